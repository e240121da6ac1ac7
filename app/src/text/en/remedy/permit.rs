//! The rights that Unwind's own identity needs to carry a remedy out.

use teardown::{
    advice::WayNeed,
    remedy::{Holds, Permit, PermitAnswer},
};

use crate::text::{api_problem, isolated};

/// Whether Unwind has a right, as one of the preconditions of a remedy.
pub(super) fn permit(permit: &Permit) -> WayNeed {
    let right = isolated(&permit.permission.to_string());
    let right = if permit.is_for_undo { format!("{right} to take it back") } else { right };
    let (what, holds) = match &permit.answer {
        PermitAnswer::Allowed => (format!("Unwind may {right}."), Holds::Yes),
        PermitAnswer::Denied(why) => {
            let why = api_problem(why);
            let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
            let what = format!(
                "Unwind may not {right}{why}. Use the command with an identity that may, or grant the right."
            );
            (what, Holds::No)
        }
        PermitAnswer::Unknown(why) => {
            let what =
                format!("It cannot be found out whether Unwind may {right}: {}", api_problem(why));
            (what, Holds::Unknown)
        }
        PermitAnswer::Asked => {
            (format!("Unwind is asking whether it may {right}."), Holds::Unknown)
        }
    };
    WayNeed { what, holds }
}

#[cfg(test)]
mod tests {
    use teardown::{api_problem::ApiProblem, fetched::Permission};

    use super::*;

    #[test]
    fn right_that_unwind_lacks_is_named_with_the_way_out() {
        let permission = Permission {
            verb: "update",
            group: "".into(),
            version: "v1".into(),
            resource: "namespaces".into(),
            subresource: "finalize".into(),
            namespace: None,
            name: "shop".into(),
        };
        let said = |answer| {
            let WayNeed { what, holds } =
                permit(&Permit { permission: permission.clone(), is_for_undo: false, answer });
            (what.replace(['\u{2068}', '\u{2069}'], ""), holds)
        };
        let no = |why: &str| ApiProblem::Quoted(why.into());
        let right = "update namespaces/finalize shop";
        let cases = [
            (PermitAnswer::Allowed, format!("Unwind may {right}."), Holds::Yes),
            (
                PermitAnswer::Denied(no("")),
                format!(
                    "Unwind may not {right}. Use the command with an identity that may, or grant the right."
                ),
                Holds::No,
            ),
            (
                PermitAnswer::Denied(no("no rule")),
                format!(
                    "Unwind may not {right} (no rule). Use the command with an identity that may, or grant the right."
                ),
                Holds::No,
            ),
            (
                PermitAnswer::Unknown(no("down")),
                format!("It cannot be found out whether Unwind may {right}: down"),
                Holds::Unknown,
            ),
            (
                PermitAnswer::Asked,
                format!("Unwind is asking whether it may {right}."),
                Holds::Unknown,
            ),
        ];
        for (answer, sentence, holds) in cases {
            assert_eq!(said(answer), (sentence, holds));
        }
        let answer = PermitAnswer::Allowed;
        let undo = permit(&Permit { permission, is_for_undo: true, answer });
        assert_eq!(undo.what, format!("Unwind may {right} to take it back."));
    }
}
