//! What must hold before a call may begin: the tool is known, the arguments were complete and fit.
//!
//! Pure. Whether somebody has to be asked is `approve`'s question.

use serde_json::Value;
use vocab::{message::StopReason, outcome::Failure};

use crate::toolbelt::{Kit, Tool};

/// Finds the tool that a call names.
///
/// # Errors
/// `unknown_tool`, naming the nearest known one.
pub fn known<'kit>(kit: &'kit Kit, name: &str) -> Result<&'kit Tool, Failure> {
    kit.find(name).ok_or_else(|| {
        let shown = crate::parts::beginning(name, 80);
        let failure =
            Failure::not_started("unknown_tool", format!("there is no tool named {shown:?}"));
        match kit.nearest(name) {
            Some(near) => failure.with_hint(format!("did you mean {near:?}?")),
            None => failure.with_hint(format!("the tools are: {}", kit.names().join(", "))),
        }
    })
}

/// Repairs the arguments of a call once and checks them.
///
/// # Errors
/// `invalid_arguments`, naming every problem with its path.
pub fn fit(tool: &Tool, input: &Value) -> Result<Value, Failure> {
    if let Value::String(_) = input {
        return Err(Failure::not_started(
            "invalid_arguments",
            format!("the arguments of {} were not a JSON object", tool.spec.name),
        )
        .with_hint("call it again with one complete JSON object"));
    }
    let prepared = tool.spec.prepare(input.clone());
    tool.spec.validate(&prepared).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(|problem| format!("- {problem}")).collect();
        Failure::not_started(
            "invalid_arguments",
            format!("the arguments of {} do not fit:\n{}", tool.spec.name, lines.join("\n")),
        )
    })?;
    Ok(prepared)
}

/// Checks all that can be checked of a call before it begins.
///
/// # Errors
/// What the call ends with instead of running.
pub fn sound<'kit>(
    kit: &'kit Kit,
    stop: StopReason,
    name: &str,
    input: &Value,
) -> Result<&'kit Tool, Failure> {
    if stop == StopReason::Length {
        return Err(Failure::not_started(
            "arguments_cut",
            "the answer reached its output limit, so the arguments may be cut; nothing was run",
        )
        .with_hint("call again with shorter arguments, in several calls if need be"));
    }
    let tool = known(kit, name)?;
    fit(tool, input)?;
    Ok(tool)
}
