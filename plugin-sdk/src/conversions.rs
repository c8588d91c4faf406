//! Between the SDK's own types and the generated ones, in one place.

use crate::bindings::environment_plugin::exports::troupe::plugin::environment as wit_environment;
use crate::bindings::interpreter_plugin::exports::troupe::plugin::interpreter as wit_interpreter;
use crate::bindings::workflow_plugin::exports::troupe::plugin::workflow as wit_workflow;
use crate::settings::{Domain, Setting, Value};
use crate::{environment, interpreter, workflow};

/// Environments and workflows declare settings in the same words, which the
/// contract states once in each interface so that neither imports the other.
macro_rules! convert_settings {
    ($wit:ident) => {
        impl From<Value> for $wit::Value {
            fn from(value: Value) -> Self {
                match value {
                    Value::Integer(value) => $wit::Value::Integer(value),
                    Value::Number(value) => $wit::Value::Number(value),
                    Value::Flag(value) => $wit::Value::Flag(value),
                    Value::Text(value) => $wit::Value::Text(value),
                }
            }
        }

        impl From<Domain> for $wit::Domain {
            fn from(domain: Domain) -> Self {
                match domain {
                    Domain::Integer(low, high) => $wit::Domain::Integer((low, high)),
                    Domain::Number(low, high) => $wit::Domain::Number((low, high)),
                    Domain::Flag => $wit::Domain::Flag,
                    Domain::Choice(words) => $wit::Domain::Choice(words),
                    Domain::Text => $wit::Domain::Text,
                }
            }
        }

        impl From<Setting> for $wit::Setting {
            fn from(setting: Setting) -> Self {
                $wit::Setting {
                    name: setting.name,
                    summary: setting.summary,
                    domain: setting.domain.into(),
                    default: setting.default.into(),
                }
            }
        }

        impl From<$wit::Configured> for (String, Value) {
            fn from(configured: $wit::Configured) -> Self {
                let value = match configured.value {
                    $wit::Value::Integer(value) => Value::Integer(value),
                    $wit::Value::Number(value) => Value::Number(value),
                    $wit::Value::Flag(value) => Value::Flag(value),
                    $wit::Value::Text(value) => Value::Text(value),
                };
                (configured.name, value)
            }
        }
    };
}

convert_settings!(wit_environment);
convert_settings!(wit_workflow);

/// Convert each element.
fn all<A: Into<B>, B>(items: Vec<A>) -> Vec<B> {
    items.into_iter().map(Into::into).collect()
}

// Environments: what comes in.

impl From<wit_environment::Task> for environment::Task {
    fn from(task: wit_environment::Task) -> Self {
        environment::Task {
            split: match task.split {
                wit_environment::Split::Train => environment::Split::Train,
                wit_environment::Split::Validation => environment::Split::Validation,
                wit_environment::Split::Test => environment::Split::Test,
            },
            seed: task.seed,
            settings: task.settings.into_iter().map(Into::into).collect(),
            entry: task.entry,
        }
    }
}

impl From<wit_environment::Action> for environment::Action {
    fn from(action: wit_environment::Action) -> Self {
        environment::Action { kind: action.kind, text: action.text }
    }
}

// Environments: what goes out.

impl From<environment::Description> for wit_environment::Description {
    fn from(description: environment::Description) -> Self {
        wit_environment::Description {
            name: description.name,
            version: description.version,
            summary: description.summary,
            settings: all(description.settings),
            actions: all(description.actions),
            workflows: description.workflows,
            max_turns: description.max_turns,
        }
    }
}

impl From<environment::ActionKind> for wit_environment::ActionKind {
    fn from(kind: environment::ActionKind) -> Self {
        wit_environment::ActionKind { name: kind.name, summary: kind.summary }
    }
}

impl From<environment::Action> for wit_environment::Action {
    fn from(action: environment::Action) -> Self {
        wit_environment::Action { kind: action.kind, text: action.text }
    }
}

impl From<environment::Status> for wit_environment::Status {
    fn from(status: environment::Status) -> Self {
        match status {
            environment::Status::Ongoing => wit_environment::Status::Ongoing,
            environment::Status::Solved => wit_environment::Status::Solved,
            environment::Status::Failed => wit_environment::Status::Failed,
        }
    }
}

impl From<environment::RewardPart> for wit_environment::RewardPart {
    fn from(part: environment::RewardPart) -> Self {
        wit_environment::RewardPart { name: part.name, value: part.value }
    }
}

impl From<environment::Outcome> for wit_environment::Outcome {
    fn from(outcome: environment::Outcome) -> Self {
        wit_environment::Outcome {
            feedback: outcome.feedback,
            accepted: outcome.accepted,
            team: outcome.team,
            local: outcome.local,
            parts: all(outcome.parts),
            status: outcome.status.into(),
        }
    }
}

impl From<environment::Problem> for wit_environment::Problem {
    fn from(problem: environment::Problem) -> Self {
        use environment::Problem;
        match problem {
            Problem::InvalidSettings(why) => wit_environment::Problem::InvalidSettings(why),
            Problem::InvalidTask(why) => wit_environment::Problem::InvalidTask(why),
            Problem::InvalidState(why) => wit_environment::Problem::InvalidState(why),
            Problem::Finished => wit_environment::Problem::Finished,
            Problem::Internal(why) => wit_environment::Problem::Internal(why),
        }
    }
}

// Workflows: what comes in.

impl From<wit_workflow::Briefing> for workflow::Briefing {
    fn from(briefing: wit_workflow::Briefing) -> Self {
        let kind = |(name, summary)| environment::ActionKind { name, summary };
        workflow::Briefing {
            environment: briefing.environment,
            rules: briefing.rules,
            actions: briefing.actions.into_iter().map(kind).collect(),
            settings: briefing.settings.into_iter().map(Into::into).collect(),
            max_turns: briefing.max_turns,
        }
    }
}

impl From<wit_workflow::Event> for workflow::Event {
    fn from(event: wit_workflow::Event) -> Self {
        match event {
            wit_workflow::Event::Begun(observation) => workflow::Event::Begun(observation),
            wit_workflow::Event::Replied(reply) => workflow::Event::Replied(workflow::Reply {
                role: reply.role,
                text: reply.text,
                complete: reply.complete,
            }),
            wit_workflow::Event::Acted(effect) => workflow::Event::Acted(effect.into()),
            wit_workflow::Event::Ran(run) => workflow::Event::Ran(workflow::Execution {
                role: run.role,
                succeeded: run.succeeded,
                stdout: run.stdout,
                stderr: run.stderr,
            }),
        }
    }
}

impl From<wit_workflow::Effect> for workflow::Effect {
    fn from(effect: wit_workflow::Effect) -> Self {
        workflow::Effect {
            role: effect.role,
            accepted: effect.accepted,
            feedback: effect.feedback,
            observation: effect.observation,
            status: match effect.status {
                wit_workflow::Status::Ongoing => workflow::Status::Ongoing,
                wit_workflow::Status::Solved => workflow::Status::Solved,
                wit_workflow::Status::Failed => workflow::Status::Failed,
            },
        }
    }
}

// Workflows: what goes out.

impl From<workflow::Description> for wit_workflow::Description {
    fn from(description: workflow::Description) -> Self {
        wit_workflow::Description {
            name: description.name,
            version: description.version,
            summary: description.summary,
            settings: all(description.settings),
            roles: all(description.roles),
            actions: description.actions,
        }
    }
}

impl From<workflow::Role> for wit_workflow::Role {
    fn from(role: workflow::Role) -> Self {
        wit_workflow::Role { name: role.name, summary: role.summary }
    }
}

impl From<workflow::Message> for wit_workflow::Message {
    fn from(message: workflow::Message) -> Self {
        wit_workflow::Message {
            author: match message.author {
                workflow::Author::System => wit_workflow::Author::System,
                workflow::Author::User => wit_workflow::Author::User,
                workflow::Author::Assistant => wit_workflow::Author::Assistant,
            },
            text: message.text,
        }
    }
}

impl From<workflow::Request> for wit_workflow::Request {
    fn from(request: workflow::Request) -> Self {
        wit_workflow::Request { role: request.role, messages: all(request.messages) }
    }
}

impl From<workflow::Program> for wit_workflow::Program {
    fn from(program: workflow::Program) -> Self {
        wit_workflow::Program {
            role: program.role,
            language: program.language,
            source: program.source,
            stdin: program.stdin,
        }
    }
}

impl From<workflow::Directive> for wit_workflow::Directive {
    fn from(directive: workflow::Directive) -> Self {
        use workflow::Directive;
        match directive {
            Directive::Ask(requests) => wit_workflow::Directive::Ask(all(requests)),
            Directive::Act(role, action) => wit_workflow::Directive::Act(wit_workflow::Move {
                role,
                kind: action.kind,
                text: action.text,
            }),
            Directive::Run(program) => wit_workflow::Directive::Run(program.into()),
            Directive::Wait => wit_workflow::Directive::Wait,
            Directive::Finish => wit_workflow::Directive::Finish,
        }
    }
}

impl From<workflow::Problem> for wit_workflow::Problem {
    fn from(problem: workflow::Problem) -> Self {
        use workflow::Problem;
        match problem {
            Problem::InvalidSettings(why) => wit_workflow::Problem::InvalidSettings(why),
            Problem::InvalidState(why) => wit_workflow::Problem::InvalidState(why),
            Problem::UnexpectedEvent(why) => wit_workflow::Problem::UnexpectedEvent(why),
            Problem::Internal(why) => wit_workflow::Problem::Internal(why),
        }
    }
}

// Interpreters.

impl From<interpreter::Description> for wit_interpreter::Description {
    fn from(description: interpreter::Description) -> Self {
        wit_interpreter::Description {
            language: description.language,
            version: description.version,
            summary: description.summary,
        }
    }
}

impl From<interpreter::Ending> for wit_interpreter::Ending {
    fn from(ending: interpreter::Ending) -> Self {
        use interpreter::Ending;
        match ending {
            Ending::Exited(code) => wit_interpreter::Ending::Exited(code),
            Ending::Failed(name, trace) => wit_interpreter::Ending::Failed((name, trace)),
            Ending::Malformed(message) => wit_interpreter::Ending::Malformed(message),
        }
    }
}
