//! The edges of the loop: its queue, and what is no terminal.

use super::*;

#[test]
fn what_is_told_waits_in_a_bounded_queue() {
    let (sender, _told) = queue();
    assert_eq!(sender.max_capacity(), VIEW_TOLD_MAX);
    for _ in 0..VIEW_TOLD_MAX {
        sender.try_send(Msg::Paste(String::new())).unwrap();
    }
    assert!(sender.try_send(Msg::Paste(String::new())).is_err());
}

#[tokio::test]
async fn a_view_without_a_terminal_is_refused() {
    let setup = Setup {
        client: Client::new(api::client::Address::Socket("/nowhere".into())),
        ground: Ground::default(),
        home: None,
        has_colors: false,
        attach: |_| Err(io::ErrorKind::Unsupported.into()),
    };
    if !io::IsTerminal::is_terminal(&io::stdin()) {
        let refused = run(setup, Wanted::default(), None).await.unwrap_err();
        assert_eq!(refused.code, "not_a_terminal");
    }
}
