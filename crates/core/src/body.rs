//! The body of a task for an environment that asks for no program: `{"kind":"guess","number":7}`.

use crate::wire::{Object, WireError};

/// The body of a task for an environment that runs no programs.
#[derive(Debug, Clone, PartialEq)]
pub struct Body {
    /// The kind of environment.
    pub kind: String,
    /// The fields that the environment reads.
    pub fields: Object,
}

impl Body {
    /// The body of a line without tests. A field of that name without a kind belongs to another tool, and passes
    /// through.
    pub(crate) fn take(object: &mut Object) -> Result<Option<Self>, WireError> {
        let field = object.get("body").and_then(|raw| serde_json::from_str::<Object>(raw).ok());
        let Some(mut fields) = field.filter(|fields| fields.get("kind").is_some()) else {
            return Ok(None);
        };
        let problem = |err: WireError| WireError::Field { field: "body", problem: err.to_string() };
        let kind: String = fields.require("kind").map_err(problem)?;
        object.take::<Object>("body")?;
        Ok(Some(Self { kind, fields }))
    }

    /// As it stands in a line.
    pub(crate) fn to_object(&self) -> Object {
        let mut object = Object::new();
        object.put("kind", &self.kind);
        object.append(&self.fields);
        object
    }
}

#[cfg(test)]
mod tests {
    use crate::task::{PROGRAM, Task};
    use crate::wire::Wire;

    fn task(line: &str) -> Task {
        Task::from_object(serde_json::from_str(line).unwrap()).unwrap()
    }

    #[test]
    fn a_body_that_is_somebody_elses_passes_through() {
        for body in [r#""text""#, r#"{"text":"x"}"#] {
            let line = format!(r#"{{"id":"a","statement":"s","body":{body}}}"#);
            let task = task(&line);
            assert!(task.kind().is_none() && task.body.is_none());
            assert!(task.to_line().ends_with(&format!(r#""body":{body}}}"#)), "{}", task.to_line());
        }
        let line = concat!(
            r#"{"id":"a","statement":"s","tests":{"kind":"asserts","hidden":["a"]},"#,
            r#""body":{"kind":"html"}}"#
        );
        let task = task(line);
        assert_eq!(task.kind(), Some(PROGRAM));
        assert!(task.to_line().ends_with(r#""body":{"kind":"html"}}"#), "{}", task.to_line());
    }
}
