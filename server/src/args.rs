//! The command line.

use std::{
    net::{IpAddr, Ipv4Addr},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
};

use clap::Parser;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// Takes a Kubernetes application apart in proven order, and shows it to everybody who watches.
///
/// Prints a link that signs one browser in. Whoever is signed in can make another link on the page. Only programs on
/// this machine can connect.
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

    /// Loopback address to listen on; any other is refused
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_parser = loopback)]
    pub address: IpAddr,

    /// Port to listen on [default: the one of the last start if it is free, so that open pages find the server again]
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,

    /// Directory of the journal, made if it is missing [default: $XDG_STATE_HOME/unwind or ~/.local/state/unwind]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,

    /// Directory of the built page
    #[arg(long, value_name = "DIR", default_value = "target/site")]
    pub site: PathBuf,

    /// Who you are, as it will stand in the record of every run you start
    #[arg(long, value_name = "NAME", env = "USER", hide_env_values = true, default_value = "somebody", value_parser = name)]
    pub name: String,

    /// What to log: a level, or a list such as `info,server::http=debug`
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
        text.parse().map_err(|_| "not an IP address; 127.0.0.1 and ::1 are possible".to_owned())?;
    if address.is_loopback() {
        Ok(address)
    } else {
        Err("not a loopback address: whoever reaches the server can delete with your credentials, so it listens on \
             127.0.0.1 or ::1 only; from another machine use `ssh -L`"
            .to_owned())
    }
}

/// The longest name a person can have.
pub const NAME_LIMIT: usize = 64;

/// The most combining marks after one letter. Hebrew with all its points needs four; a heap of them would cover the
/// lines above and below.
const MARKS_LIMIT: usize = 4;

/// A person's name as it may stand in records and logs: not empty, at most [`NAME_LIMIT`] characters of any script, none
/// of them a control, bidirectional or other invisible character. Joiners are allowed between letters: Persian and
/// Indic names are spelled with them.
///
/// # Errors
/// Says which of these it is not.
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

/// Why there is no directory to keep state in.
#[derive(Debug, thiserror::Error)]
pub enum StateDirError {
    /// Neither `--state` nor a home directory.
    #[error("neither $XDG_STATE_HOME nor $HOME is set; name a directory with --state")]
    Homeless,
    /// It cannot be made or looked at.
    #[error("cannot use {path:?} as the state directory; choose another one with --state")]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// Other users can write into it.
    #[error(
        "other users can write into {path:?}, so its journal could not be trusted; run `chmod go-w {path:?}`"
    )]
    Shared {
        /// The directory.
        path: PathBuf,
    },
}

/// The directory that keeps the journal and the sessions: `chosen`, or the user's state directory. Made readable to
/// the user alone where it is missing.
///
/// # Errors
/// [`StateDirError`] where it cannot be had or could not be trusted.
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
    fn help_reads() {
        let help = Args::command().render_long_help().to_string();
        let help: Vec<_> = help.lines().map(str::trim_end).collect();
        insta::assert_snapshot!(help.join("\n"), @r"
        Takes a Kubernetes application apart in proven order, and shows it to everybody who watches.

        Prints a link that signs one browser in. Whoever is signed in can make another link on the page. Only programs on this machine can connect.

        Usage: unwind [OPTIONS]

        Options:
              --context <NAME>
                  Context of the kubeconfig to use [default: its current context]

              --kubeconfig <FILE>
                  Kubeconfig file to read [default: $KUBECONFIG, then ~/.kube/config, then the Pod's service account]

              --sandbox [<WORLD>]
                  Serve a cluster in memory instead of a real one: consortium, shop, s1 to s5, or a file of objects as `kubectl get -o json` prints them [without a value: all of them side by side]

              --address <ADDRESS>
                  Loopback address to listen on; any other is refused

                  [default: 127.0.0.1]

              --port <PORT>
                  Port to listen on [default: the one of the last start if it is free, so that open pages find the server again]

              --state <DIR>
                  Directory of the journal, made if it is missing [default: $XDG_STATE_HOME/unwind or ~/.local/state/unwind]

              --site <DIR>
                  Directory of the built page

                  [default: target/site]

              --name <NAME>
                  Who you are, as it will stand in the record of every run you start

                  [env: USER]
                  [default: somebody]

              --log <FILTER>
                  What to log: a level, or a list such as `info,server::http=debug`

                  [env: RUST_LOG]
                  [default: info]

          -h, --help
                  Print help (see a summary with '-h')

          -V, --version
                  Print version
        ");
    }

    #[test]
    fn only_loopback_is_listened_on() {
        for address in ["127.0.0.1", "127.0.0.53", "::1"] {
            assert!(parse(&format!("unwind --address {address}")).is_ok(), "{address}");
        }
        for address in ["0.0.0.0", "::", "192.168.1.7", "localhost", ""] {
            assert!(parse(&format!("unwind --address={address}")).is_err(), "{address}");
        }
        assert!(parse("unwind --address 0.0.0.0").unwrap_err().contains("loopback"));
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
    fn a_state_directory_is_private() {
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
