//! What is said of models that are not there.

use super::*;

#[test]
fn a_model_that_is_configured_is_the_first_thing_to_be_named() {
    let hint = |text: &str| {
        let config: Config = toml::from_str(text).unwrap();
        no_model(&config).hint.unwrap()
    };
    let told = hint("[providers.play]\napi = \"scripted\"\nmodels = [{ id = \"model\" }]\n");
    assert!(
        told.starts_with("name one that is configured: --model play/model, for good"),
        "{told}"
    );
    assert!(told.contains("\nor set ANTHROPIC_API_KEY"), "{told}");
    for none in ["", "[providers.play]\napi = \"scripted\"\n"] {
        let told = hint(none);
        assert!(
            told.starts_with("set ANTHROPIC_API_KEY") && told.contains("\nor set default_model"),
            "{told}"
        );
    }
}

#[test]
fn half_a_name_is_no_unknown_provider() {
    let config = Config::default();
    for (text, code) in [
        ("local/", "model_unknown"),
        ("/qwen3", "model_unknown"),
        ("/", "model_unknown"),
        ("qwen3", "model_unknown"),
        ("nobody/qwen3", "provider_unknown"),
    ] {
        let failure = named(&config, text).unwrap_err();
        assert_eq!(failure.code, code, "{text}");
        assert!(failure.message.contains(text) || code == "provider_unknown", "{failure}");
    }
}
