//! TLS of both ends, from texts that somebody else has read: rustls with ring, versions 1.2 and 1.3.
//!
//! No client certificates: who a client is, its token says.

use std::sync::Arc;

use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

/// Why there is no TLS. No text of a key or certificate is repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// The certificates are none.
    #[error("the certificates cannot be used: {0}")]
    Certificates(String),
    /// The key is none, or not that of the certificate.
    #[error("the private key cannot be used: {0}")]
    Key(String),
    /// The machine has no certificates of authorities, and the built-in ones cannot be used either.
    #[error("there are no certificates of authorities to trust")]
    NoRoots,
}

impl TlsError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Certificates(_) => "tls_certificate_invalid",
            Self::Key(_) => "tls_key_invalid",
            Self::NoRoots => "tls_roots_missing",
        }
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let all = read.map_err(|error| TlsError::Certificates(error.to_string()))?;
    if all.is_empty() {
        return Err(TlsError::Certificates("there is none in the file".to_owned()));
    }
    Ok(all)
}

/// Makes the server's end of a chain of certificates and its key, both as PEM.
///
/// # Errors
/// When they cannot be read, or do not belong together.
pub fn server(certificates_pem: &[u8], key_pem: &[u8]) -> Result<Arc<ServerConfig>, TlsError> {
    let chain = certificates(certificates_pem)?;
    let key = PrivateKeyDer::from_pem_slice(key_pem);
    let key = key.map_err(|error| TlsError::Key(error.to_string()))?;
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::Key(error.to_string()))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| TlsError::Key(error.to_string()))?;
    Ok(Arc::new(config))
}

/// Makes the client's end: it trusts the given authorities alone, else those of the machine, else the built-in ones.
///
/// # Errors
/// When there is nobody to trust.
pub fn client(authorities_pem: Option<&[u8]>) -> Result<Arc<ClientConfig>, TlsError> {
    let mut roots = RootCertStore::empty();
    if let Some(pem) = authorities_pem {
        for authority in certificates(pem)? {
            let added = roots.add(authority);
            added.map_err(|error| TlsError::Certificates(error.to_string()))?;
        }
    } else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            let built_in = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cloned();
            roots.add_parsable_certificates(built_in);
        }
    }
    if roots.is_empty() {
        return Err(TlsError::NoRoots);
    }
    let config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::Certificates(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
