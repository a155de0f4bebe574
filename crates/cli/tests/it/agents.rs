//! Real agents, as npm installs them, where the environment names their folder.

#![expect(clippy::disallowed_methods, reason = "reads where the caller has installed them")]

use std::path::PathBuf;

use serde_json::json;

use crate::home::{Home, write};

/// Looks like a key, so that agents begin, and opens nothing.
const KEY: &str = "no-key-that-is-one-0123456789";

/// Nobody listens there.
const NOBODY: &str = "http://127.0.0.1:9";

/// The folder of the agents.
pub(crate) struct Installed(PathBuf);

impl Installed {
    /// Finds it; without it the test says so and passes.
    pub(crate) fn find() -> Option<Self> {
        let found = std::env::var_os("STEAD_TEST_AGENTS").map(PathBuf::from);
        if found.is_none() {
            println!("skipped: STEAD_TEST_AGENTS names no folder with agents");
        }
        found.map(Self)
    }

    /// Returns the command that starts an agent in an environment in which it reaches nobody.
    pub(crate) fn command(&self, agent: &str) -> Vec<String> {
        let program = self.0.join("node_modules/.bin").join(agent);
        assert!(program.exists(), "{} is missing in STEAD_TEST_AGENTS", program.display());
        let node = std::env::var_os("STEAD_TEST_NODE").map(PathBuf::from).unwrap();
        let path =
            format!("PATH={}:/usr/local/bin:/usr/bin:/bin", node.parent().unwrap().display());
        let mut words = vec!["env".to_owned(), path, format!("ANTHROPIC_API_KEY={KEY}")];
        for name in ["ANTHROPIC_BASE_URL", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"]
        {
            words.push(format!("{name}={NOBODY}"));
        }
        for name in
            ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "PI_OFFLINE"]
        {
            words.push(format!("{name}=1"));
        }
        words.push(program.to_str().unwrap().to_owned());
        words
    }
}

/// Makes a person's directory in which the agents have nothing to ask before they begin.
pub(crate) fn settle(home: &Home) {
    let user = home.path("user");
    std::fs::create_dir_all(&user).unwrap();
    let known = json!({
        "hasCompletedOnboarding": true,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [&KEY[KEY.len() - 20..]], "rejected": []},
        "projects": {home.work().to_str().unwrap(): {"hasTrustDialogAccepted": true}},
    });
    write(&user.join(".claude.json"), &known.to_string());
}
