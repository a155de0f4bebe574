//! Both clients can be made, also where the machine has no certificates.

use super::*;

#[test]
fn clients_are_made_once_and_chosen_by_address() {
    let of = |url: &str| for_url(&url.parse().expect("an address")).expect("a client");
    let loopback = of("http://127.0.0.1:1/v1");
    assert!(std::ptr::eq(loopback, of("http://[::1]:2/")));
    assert!(std::ptr::eq(loopback, of("http://localhost/")));
    let open = of("https://127.0.0.1/");
    assert!(!std::ptr::eq(loopback, open));
    assert!(std::ptr::eq(open, of("http://example.org/")));
}
