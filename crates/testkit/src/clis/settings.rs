//! Environment, arguments and files that tie a CLI to one room and one model server.

use std::io;
use std::path::Path;

use serde_json::json;

use super::{Cli, CliId};
use crate::model::Server;
use crate::room::Room;

/// The model that every CLI is told to ask for.
pub const MODEL: &str = "stub-model";
/// A key that nobody checks.
const KEY: &str = "stub-key";

/// How a CLI is told to treat a failing model. opencode 1.18.33 has no such setting, and Qwen Code
/// 0.15.10 none for its seven attempts (about 80 s) at a status 429 or 500.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retries {
    /// As the vendor has it: up to three minutes with claude.
    Vendor,
    /// Not at all, where the vendor has a setting for it.
    None,
}

impl Cli {
    /// The whole environment for a run in `room` against `server`: nothing of the caller's but
    /// PATH. As root, `IS_SANDBOX=1` is part of it: claude insists.
    ///
    /// # Errors
    /// When the CLI's directories and settings cannot be written into the room.
    pub fn isolated_env(
        &self,
        room: &Room,
        server: &Server,
        retries: Retries,
    ) -> io::Result<Vec<(String, String)>> {
        let mut env = base_env(room);
        let url = server.url();
        let own = match self.id {
            CliId::Claude197 | CliId::Claude332 => claude(room, &url, retries)?,
            CliId::Codex => codex(room)?,
            CliId::Opencode => opencode(room, &url)?,
            CliId::Qwen => qwen(room, &url, retries)?,
            CliId::Gemini => gemini(room, &url, retries)?,
        };
        env.extend(own);
        Ok(env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Arguments that name the model and the server, for the CLIs that do not take them from the
    /// environment. They go before the prompt.
    pub fn model_args(&self, server: &Server, retries: Retries) -> Vec<String> {
        match self.id {
            CliId::Codex => codex_args(&server.url(), retries),
            CliId::Qwen => ["--auth-type", "openai"].map(String::from).to_vec(),
            CliId::Gemini => ["--model", MODEL].map(String::from).to_vec(),
            CliId::Claude197 | CliId::Claude332 | CliId::Opencode => Vec::new(),
        }
    }
}

type Env = Vec<(&'static str, String)>;

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn base_env(room: &Room) -> Env {
    let home = room.home();
    let mut env = vec![
        ("PATH", std::env::var("PATH").unwrap_or_default()),
        ("HOME", text(&home)),
        ("TMPDIR", text(&room.tmp())),
        ("LANG", "C.UTF-8".to_owned()),
        ("XDG_CONFIG_HOME", text(&home.join(".config"))),
        ("XDG_DATA_HOME", text(&home.join(".local/share"))),
        ("XDG_STATE_HOME", text(&home.join(".local/state"))),
        ("XDG_CACHE_HOME", text(&home.join(".cache"))),
        ("NO_PROXY", "127.0.0.1,localhost".to_owned()),
    ];
    if rustix::process::getuid().is_root() {
        env.push(("IS_SANDBOX", "1".to_owned()));
    }
    env
}

fn claude(room: &Room, url: &str, retries: Retries) -> io::Result<Env> {
    let config = room.directory("home/.claude")?;
    let mut env = vec![
        ("CLAUDE_CONFIG_DIR", text(&config)),
        ("ANTHROPIC_BASE_URL", url.to_owned()),
        ("ANTHROPIC_API_KEY", KEY.to_owned()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
    ];
    if retries == Retries::None {
        env.push(("CLAUDE_CODE_MAX_RETRIES", "0".to_owned()));
    }
    Ok(env)
}

fn codex(room: &Room) -> io::Result<Env> {
    let home = room.directory("home/.codex")?;
    Ok(vec![("CODEX_HOME", text(&home)), ("STUB_KEY", KEY.to_owned())])
}

/// Without `analytics.enabled=false` each run without a network ends five seconds late.
fn codex_args(url: &str, retries: Retries) -> Vec<String> {
    let bound = match retries {
        Retries::Vendor => "",
        Retries::None => ",request_max_retries=0,stream_max_retries=0",
    };
    let provider = format!(
        "model_providers.stub={{name=\"stub\",base_url=\"{url}/v1\",wire_api=\"responses\",\
         env_key=\"STUB_KEY\"{bound}}}"
    );
    ["-c", "analytics.enabled=false", "-m", MODEL, "-c", "model_provider=\"stub\"", "-c"]
        .map(String::from)
        .into_iter()
        .chain([provider])
        .collect()
}

fn opencode(room: &Room, url: &str) -> io::Result<Env> {
    for part in [".config", ".local/share", ".local/state", ".cache"] {
        room.directory(Path::new("home").join(part).join("opencode"))?;
    }
    let model = json!({
        "name": "Stub",
        "reasoning": true,
        "tool_call": true,
        "limit": {"context": 200_000, "output": 32_000},
    });
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": format!("{url}/v1"), "apiKey": KEY},
        "models": {MODEL: model},
    });
    let config = json!({
        "model": format!("stub/{MODEL}"),
        "autoupdate": false,
        "share": "disabled",
        "provider": {"stub": provider},
    });
    Ok(vec![
        ("OPENCODE_CONFIG_CONTENT", config.to_string()),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
    ])
}

fn qwen(room: &Room, url: &str, retries: Retries) -> io::Result<Env> {
    let mut settings = json!({
        "general": {"disableAutoUpdate": true},
        "privacy": {"usageStatisticsEnabled": false},
    });
    if retries == Retries::None {
        settings["model"] = json!({"generationConfig": {"maxRetries": 0}});
    }
    room.file("home/.qwen/settings.json", &settings.to_string())?;
    Ok(vec![
        ("OPENAI_BASE_URL", format!("{url}/v1")),
        ("OPENAI_API_KEY", KEY.to_owned()),
        ("OPENAI_MODEL", MODEL.to_owned()),
    ])
}

fn gemini(room: &Room, url: &str, retries: Retries) -> io::Result<Env> {
    let mut settings = json!({
        "general": {"disableAutoUpdate": true, "disableUpdateNag": true},
        "privacy": {"usageStatisticsEnabled": false},
        "security": {
            "auth": {"selectedType": "gemini-api-key"},
            "folderTrust": {"enabled": false},
        },
    });
    if retries == Retries::None {
        settings["general"]["maxAttempts"] = json!(1);
    }
    room.file("home/.gemini/settings.json", &settings.to_string())?;
    Ok(vec![
        ("GOOGLE_GEMINI_BASE_URL", url.to_owned()),
        ("GEMINI_API_KEY", KEY.to_owned()),
        ("GEMINI_TELEMETRY_ENABLED", "false".to_owned()),
    ])
}
