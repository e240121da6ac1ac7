//! The command line.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
};

use clap::Parser;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::notify::Format;

/// Tears a Kubernetes application down in order, and shows the progress in the browser.
///
/// Prints a link that signs one browser in. A person who is signed in can make more links on the page, to look only or to
/// act. Only programs on this machine can connect.
#[derive(Clone, Debug, PartialEq, Eq, Parser)]
#[command(name = "unwind", version, max_term_width = 100)]
pub struct Args {
    /// Context of the kubeconfig to use [default: its current context]
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,

    /// Kubeconfig file to read [default: $KUBECONFIG, then ~/.kube/config, then the Pod's service account]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// Serve a cluster in memory instead of a real one: consortium, shop, s1 to s5, or a file of objects as `kubectl get
    /// -o json` prints them [without a value: all of them side by side]
    #[arg(long, value_name = "WORLD", num_args = 0..=1, conflicts_with_all = ["context", "kubeconfig"])]
    pub sandbox: Option<Option<String>>,

    /// Loopback address to listen on; other addresses are refused
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_parser = loopback)]
    pub address: IpAddr,

    /// Port to listen on [default: the port of the last start if it is free, so that open pages reconnect]
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,

    /// Directory of the journal, created if it is missing [default: $XDG_STATE_HOME/unwind or ~/.local/state/unwind]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,

    /// Days for which runs and remedies stay in the journal after their end; open runs stay
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub keep_runs: u32,

    /// Days after which the journal of a run that has ended is shortened to its outcome
    #[arg(long, value_name = "DAYS", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub compact_runs: u32,

    /// Directory of the built page
    #[arg(long, value_name = "DIR", default_value = "target/site")]
    pub site: PathBuf,

    /// Your name for the record of every run that you start
    #[arg(long, value_name = "NAME", env = "USER", hide_env_values = true, default_value = "somebody", value_parser = name)]
    pub name: String,

    /// Every session may only look; runs that are open go on
    #[arg(long)]
    pub read_only: bool,

    /// Persons with the right to force may have Unwind carry out remedies, such as removing a finalizer
    #[arg(long, conflicts_with = "read_only")]
    pub allow_remedies: bool,

    /// Also ask kubelets about Pods that wait: for their logs, what their runtimes run and the failures that they count. It needs
    /// `get` on `nodes/proxy`, and whoever holds credentials with that right can run commands in every container of the cluster.
    /// Kubelets give their logs only with `enableSystemLogQuery`
    #[arg(long)]
    pub kubelet_logs: bool,

    /// Kubeconfig file of the same cluster whose current context asks the kubelets, so that no other credentials need
    /// that right
    #[arg(long, value_name = "FILE", requires = "kubelet_logs", conflicts_with = "sandbox")]
    pub kubelet_kubeconfig: Option<PathBuf>,

    /// Address and port to serve metrics for Prometheus on, without a session; a port alone is on 127.0.0.1
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = listener)]
    pub metrics_address: Option<SocketAddr>,

    /// Address of a webhook to notify once for each root cause that gets stuck, and once when it is resolved. It is a
    /// secret, so better give it in the environment
    #[arg(long, value_name = "URL", env = "UNWIND_NOTIFY_URL", hide_env_values = true)]
    pub notify_url: Option<Secret>,

    /// Format of the notifications
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Json)]
    pub notify_format: Format,

    /// Log filter: a level, or a list such as `info,server::http=debug`
    #[arg(
        long,
        value_name = "FILTER",
        env = "RUST_LOG",
        hide_env_values = true,
        default_value = "info"
    )]
    pub log: String,
}

fn loopback(text: &str) -> Result<IpAddr, String> {
    let address: IpAddr =
        text.parse().map_err(|_| "not an IP address; use 127.0.0.1 or ::1".to_owned())?;
    if address.is_loopback() {
        Ok(address)
    } else {
        Err("not a loopback address: everybody who reaches the server can delete with your credentials, so it listens only \
             on 127.0.0.1 or ::1; from another machine use `ssh -L`"
            .to_owned())
    }
}

/// A text that is not shown. It is checked where it is used, because clap quotes a value that it refuses.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// An address with a port; a port alone is on loopback. Other addresses are allowed here, because metrics change nothing and
/// name no object, and Prometheus mostly runs elsewhere.
fn listener(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    text.parse().map_err(|_| {
        "not an IP address with a port; use 9464, 127.0.0.1:9464 or [::1]:9464".to_owned()
    })
}

/// The longest name of a person.
pub const NAME_LIMIT: usize = 64;

/// The most combining marks after one letter. Hebrew with all its points needs four; many more would cover the lines
/// above and below.
const MARKS_LIMIT: usize = 4;

/// Checks a person's name for records and logs. It must have 1 to [`NAME_LIMIT`] characters of any script, without
/// control, bidirectional or other invisible characters. Joiners are allowed between letters, because Persian and Indic
/// names are spelled with them.
///
/// # Errors
/// Names the rule that the name breaks.
pub fn name(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        Err("a name cannot be empty".to_owned())
    } else if text.chars().count() > NAME_LIMIT {
        Err(format!("a name has at most {NAME_LIMIT} characters"))
    } else if !text.chars().all(is_visible) || text.ends_with(JOINERS) {
        Err("a name has no control characters or other invisible characters".to_owned())
    } else if !has_bases(text) {
        Err(format!("a name has at most {MARKS_LIMIT} combining marks after a letter"))
    } else {
        Ok(text.to_owned())
    }
}

/// The zero-width non-joiner and joiner.
const JOINERS: [char; 2] = ['\u{200c}', '\u{200d}'];

fn is_visible(char: char) -> bool {
    match char.general_category_group() {
        GeneralCategoryGroup::Letter
        | GeneralCategoryGroup::Mark
        | GeneralCategoryGroup::Number
        | GeneralCategoryGroup::Punctuation
        | GeneralCategoryGroup::Symbol => true,
        GeneralCategoryGroup::Separator => {
            char.general_category() == GeneralCategory::SpaceSeparator
        }
        GeneralCategoryGroup::Other => JOINERS.contains(&char),
    }
}

/// Whether each combining mark or joiner follows a letter closely enough.
fn has_bases(text: &str) -> bool {
    let mut after_base = None;
    text.chars().all(|char| {
        let joins =
            char.general_category_group() == GeneralCategoryGroup::Mark || JOINERS.contains(&char);
        after_base = match (joins, after_base) {
            (false, _) => Some(0),
            (true, Some(marks)) => Some(marks + 1),
            (true, None) => return false,
        };
        after_base.is_some_and(|marks| marks <= MARKS_LIMIT)
    })
}

/// The reason why there is no usable state directory.
#[derive(Debug, thiserror::Error)]
pub enum StateDirError {
    /// Neither `--state` nor a home directory is given.
    #[error("neither $XDG_STATE_HOME nor $HOME is set; name a directory with --state")]
    Homeless,
    /// The directory cannot be created or read.
    #[error("cannot use {path:?} as the state directory; choose another one with --state")]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// Other users can write into the directory.
    #[error(
        "other users can write into {path:?}, so its journal could not be trusted; run `chmod go-w {path:?}`"
    )]
    Shared {
        /// The directory.
        path: PathBuf,
    },
}

/// The directory of the journal and the sessions: `chosen`, or the user's state directory. If it is missing, it is
/// created for this user only.
///
/// # Errors
/// Returns a [`StateDirError`] if the directory cannot be created or read, or if other users can write into it.
pub fn state_dir(chosen: Option<PathBuf>) -> Result<PathBuf, StateDirError> {
    let from = |name, rest: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .map(|path| path.join(rest))
    };
    let path = chosen
        .or_else(|| from("XDG_STATE_HOME", "unwind"))
        .or_else(|| from("HOME", ".local/state/unwind"))
        .ok_or(StateDirError::Homeless)?;
    prepare(&path)?;
    Ok(path)
}

fn prepare(path: &Path) -> Result<(), StateDirError> {
    let unusable = |source| StateDirError::Unusable { path: path.to_owned(), source };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unusable)?;
    let mode = std::fs::metadata(path).map_err(unusable)?.permissions().mode();
    if mode & 0o022 != 0 {
        return Err(StateDirError::Shared { path: path.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(words: &str) -> Result<Args, String> {
        Args::try_parse_from(words.split_whitespace()).map_err(|error| error.to_string())
    }

    #[test]
    fn help_matches_snapshot() {
        let help = Args::command().render_long_help().to_string();
        let help: Vec<_> = help.lines().map(str::trim_end).collect();
        insta::assert_snapshot!(help.join("\n"), @r"
        Tears a Kubernetes application down in order, and shows the progress in the browser.

        Prints a link that signs one browser in. A person who is signed in can make more links on the page, to look only or to act. Only programs on this machine can connect.

        Usage: unwind [OPTIONS]

        Options:
              --context <NAME>
                  Context of the kubeconfig to use [default: its current context]

              --kubeconfig <FILE>
                  Kubeconfig file to read [default: $KUBECONFIG, then ~/.kube/config, then the Pod's service account]

              --sandbox [<WORLD>]
                  Serve a cluster in memory instead of a real one: consortium, shop, s1 to s5, or a file of objects as `kubectl get -o json` prints them [without a value: all of them side by side]

              --address <ADDRESS>
                  Loopback address to listen on; other addresses are refused

                  [default: 127.0.0.1]

              --port <PORT>
                  Port to listen on [default: the port of the last start if it is free, so that open pages reconnect]

              --state <DIR>
                  Directory of the journal, created if it is missing [default: $XDG_STATE_HOME/unwind or ~/.local/state/unwind]

              --keep-runs <DAYS>
                  Days for which runs and remedies stay in the journal after their end; open runs stay

                  [default: 30]

              --compact-runs <DAYS>
                  Days after which the journal of a run that has ended is shortened to its outcome

                  [default: 7]

              --site <DIR>
                  Directory of the built page

                  [default: target/site]

              --name <NAME>
                  Your name for the record of every run that you start

                  [env: USER]
                  [default: somebody]

              --read-only
                  Every session may only look; runs that are open go on

              --allow-remedies
                  Persons with the right to force may have Unwind carry out remedies, such as removing a finalizer

              --kubelet-logs
                  Also ask kubelets about Pods that wait: for their logs, what their runtimes run and the failures that they count. It needs `get` on `nodes/proxy`, and whoever holds credentials with that right can run commands in every container of the cluster. Kubelets give their logs only with `enableSystemLogQuery`

              --kubelet-kubeconfig <FILE>
                  Kubeconfig file of the same cluster whose current context asks the kubelets, so that no other credentials need that right

              --metrics-address <ADDRESS:PORT>
                  Address and port to serve metrics for Prometheus on, without a session; a port alone is on 127.0.0.1

              --notify-url <URL>
                  Address of a webhook to notify once for each root cause that gets stuck, and once when it is resolved. It is a secret, so better give it in the environment

                  [env: UNWIND_NOTIFY_URL]

              --notify-format <FORMAT>
                  Format of the notifications

                  Possible values:
                  - json:  An object with stable fields, for programs
                  - slack: A message for an incoming webhook of Slack
                  - lark:  A card for a bot of Lark or Feishu

                  [default: json]

              --log <FILTER>
                  Log filter: a level, or a list such as `info,server::http=debug`

                  [env: RUST_LOG]
                  [default: info]

          -h, --help
                  Print help (see a summary with '-h')

          -V, --version
                  Print version
        ");
    }

    #[test]
    fn address_that_is_not_loopback_is_refused() {
        for address in ["127.0.0.1", "127.0.0.53", "::1"] {
            assert!(parse(&format!("unwind --address {address}")).is_ok(), "{address}");
        }
        for address in ["0.0.0.0", "::", "192.168.1.7", "localhost", ""] {
            assert!(parse(&format!("unwind --address={address}")).is_err(), "{address}");
        }
        assert!(parse("unwind --address 0.0.0.0").unwrap_err().contains("loopback"));
    }

    #[test]
    fn metrics_are_served_on_loopback_unless_an_address_is_named() {
        let address = |text: &str| {
            parse(&format!("unwind --metrics-address={text}")).map(|args| args.metrics_address)
        };
        assert_eq!(parse("unwind").unwrap().metrics_address, None);
        for (text, listens) in [
            ("9464", "127.0.0.1:9464"),
            ("[::1]:9464", "[::1]:9464"),
            ("10.0.0.5:9464", "10.0.0.5:9464"),
        ] {
            assert_eq!(address(text), Ok(Some(listens.parse().unwrap())), "{text}");
        }
        for text in ["", ":9464", "127.0.0.1", "localhost:9464", "99999", "0x10", "::1:port"] {
            assert!(address(text).unwrap_err().contains("use 9464"), "{text}");
        }
    }

    #[test]
    fn kubeconfig_for_kubelets_needs_their_logs_and_a_real_cluster() {
        let args = parse("unwind --kubelet-logs --kubelet-kubeconfig logs.yaml").unwrap();
        assert_eq!(args.kubelet_kubeconfig, Some("logs.yaml".into()));
        assert!(!parse("unwind").unwrap().kubelet_logs);
        for (words, named) in [
            ("unwind --kubelet-kubeconfig logs.yaml", "--kubelet-logs"),
            ("unwind --sandbox --kubelet-logs --kubelet-kubeconfig logs.yaml", "--sandbox"),
        ] {
            let error = parse(words).unwrap_err();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn address_of_the_webhook_is_not_shown() {
        let args = parse("unwind --notify-url https://example.com/very-secret").unwrap();
        assert_eq!(args.notify_url.as_ref().unwrap().reveal(), "https://example.com/very-secret");
        assert!(!format!("{args:?}").contains("very-secret"), "{args:?}");
    }

    #[test]
    fn name_of_any_script_is_accepted_and_invisible_characters_are_refused() {
        assert_eq!(name(" Li Wei 李伟 "), Ok("Li Wei 李伟".to_owned()));
        assert_eq!(name("O'Brien"), Ok("O'Brien".to_owned()));
        for name_of_a_script in
            ["देवनागरी", "Nguye\u{302}\u{303}n", "محمد", "שָׁלוֹם", "สมชาย", "می\u{200c}خواهم", "Zoë 2"]
        {
            assert_eq!(name(name_of_a_script), Ok(name_of_a_script.to_owned()));
        }
        let heap = format!("a{}", "\u{301}".repeat(5));
        for bad in [
            "",
            "  ",
            "a\nb",
            "a\u{202e}b",
            "a\u{2067}b",
            "a\u{2028}b",
            "a\u{200b}b",
            "a\u{200d}",
            "\u{301}a",
            "a\u{1b}[31m",
            &heap,
            &"x".repeat(65),
        ] {
            assert!(name(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn state_directory_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        assert_eq!(state_dir(Some(path.clone())).unwrap(), path);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);

        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(state_dir(Some(path)), Err(StateDirError::Shared { .. })));

        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(matches!(state_dir(Some(file)), Err(StateDirError::Unusable { .. })));
    }
}
