//! Configurations, good and bad.

use super::*;

#[test]
fn addresses_are_taken_as_people_write_them() {
    let check = |api, base: &str, path, expected: &str| {
        let url = ProviderConfig::new("p", api, base).url(path).expect("an address");
        assert_eq!(url.as_str(), expected);
    };
    let (chat, messages) = ("chat/completions", "messages");
    let openai = Api::OpenAiChat;
    check(openai, "http://h:1/v1", chat, "http://h:1/v1/chat/completions");
    check(openai, "http://h:1/v1/", chat, "http://h:1/v1/chat/completions");
    check(openai, "http://h/v1/chat/completions", chat, "http://h/v1/chat/completions");
    check(openai, "https://h/a/openai?v=2", chat, "https://h/a/openai/chat/completions?v=2");
    check(Api::Anthropic, "http://h", messages, "http://h/v1/messages");
    check(Api::Anthropic, "http://h/v1", messages, "http://h/v1/messages");
    check(Api::Anthropic, "http://h/x/anthropic/", messages, "http://h/x/anthropic/v1/messages");
}

#[test]
fn what_is_no_provider_is_refused_with_a_code() {
    let code =
        |config: ProviderConfig| config.resolve(&Clock::system()).err().map(|error| error.code());
    assert_eq!(
        code(ProviderConfig::new("p", Api::OpenAiChat, "nonsense")),
        Some("provider_url_invalid")
    );
    assert_eq!(
        code(ProviderConfig::new("p", Api::OpenAiChat, "ftp://h")),
        Some("provider_url_invalid")
    );
    assert_eq!(code(ProviderConfig::new("p", Api::Scripted, "")), Some("provider_script_missing"));
    let mut config = ProviderConfig::new("p", Api::Anthropic, "http://h");
    config.key = Some(Secret::new("a\nb".into()));
    assert_eq!(code(config), Some("provider_header_invalid"));
    assert_eq!("google".parse::<Api>().map_err(|error| error.code()), Err("provider_api_unknown"));
    assert_eq!(code(ProviderConfig::scripted("p", Script::default())), None);
}

#[test]
fn every_known_vendor_makes_a_provider() {
    for vendor in catalog::VENDORS {
        let config = ProviderConfig::vendor(vendor, Some(Secret::new("k".into())));
        assert!(config.resolve(&Clock::system()).is_ok(), "{}", vendor.name);
        assert_eq!(config.model("x").context_window, vendor.context_window);
        assert!(!vendor.key_variables.is_empty());
    }
    let local = ProviderConfig::new("local", Api::OpenAiChat, "http://127.0.0.1:1/v1");
    assert_eq!(local.model("x"), ModelConfig::unknown("x"));
}
