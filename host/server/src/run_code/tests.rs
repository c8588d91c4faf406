use axum::response::IntoResponse;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use troupe_core::program::SandboxError;

const CAPS: RunLimits =
    RunLimits { fuel: 1_000, timeout_ms: 30_000, memory_mib: 512, output_bytes: 64 };

/// Ends every program in the same way.
struct Ends(Result<Ending, SandboxError>);

impl Runner for Ends {
    fn run(
        &self,
        program: &Program,
        stdin: &Arc<[u8]>,
        _: &RunLimits,
    ) -> Result<Arc<Execution>, SandboxError> {
        Ok(Arc::new(Execution {
            ending: self.0.clone()?,
            stdout: stdin.to_vec(),
            stderr: program.source.to_vec(),
            fuel: 7,
            memory_bytes: 8,
            wall: Duration::from_millis(1_500),
        }))
    }
}

fn parse(request: &Value) -> Result<RunCode, Refusal> {
    RunCode::parse(request.to_string().as_bytes(), &Languages::pretended(&["python"]), &CAPS)
}

fn plan(request: &Value) -> Plan {
    match parse(request).unwrap() {
        RunCode::Run(plan) => *plan,
        RunCode::Impossible(message) => panic!("{message}"),
    }
}

fn answered(ending: Result<Ending, SandboxError>) -> Value {
    let plan = plan(&json!({"code": "err", "language": "python", "stdin": "out"}));
    serde_json::to_value(plan.run(&Ends(ending))).unwrap()
}

fn status(status: u16, refused: Result<RunCode, Refusal>) -> bool {
    refused.unwrap_err().into_response().status() == status
}

#[test]
fn the_body_that_verl_sends_is_understood() {
    let plan = plan(&json!({
        "compile_timeout": 10, "run_timeout": 10, "code": "print(1)", "stdin": null,
        "memory_limit_MB": 1024, "language": "python", "files": {}, "fetch_files": []
    }));
    assert_eq!(plan.program, Program::new("python", b"print(1)".as_slice()));
    assert_eq!((plan.stdin.len(), plan.remark), (0, ""));
    assert_eq!(plan.limits, RunLimits { timeout_ms: 10_000, ..CAPS });
}

#[test]
fn null_is_as_good_as_nothing() {
    let request = json!({"code": "print(1)", "language": "python"});
    let plain = plan(&request);
    for field in
        ["compile_timeout", "run_timeout", "memory_limit_MB", "stdin", "files", "fetch_files"]
    {
        let mut with = request.clone();
        with[field] = Value::Null;
        let none = plan(&with);
        assert_eq!((none.limits, none.stdin.len()), (plain.limits, 0), "{field}");
    }
}

#[test]
fn the_limits_are_the_requests_within_the_servers() {
    let limits = |timeout: Value, memory: Value| {
        let request = json!({"code": "", "language": "python3", "run_timeout": timeout,
            "memory_limit_MB": memory});
        let limits = plan(&request).limits;
        (limits.timeout_ms, limits.memory_mib)
    };
    assert_eq!(limits(json!(0.25), json!(64)), (250, 64));
    assert_eq!(limits(json!(1e9), json!(1e9)), (30_000, 512));
    assert_eq!(limits(Value::Null, json!(-1)), (10_000, 512));
}

#[test]
fn what_is_missing_or_of_another_kind_is_unprocessable_and_the_rest_malformed() {
    for request in [
        json!({"language": "python"}),
        json!({"code": ""}),
        json!({"code": "", "language": "python", "run_timout": 1}),
        json!({"code": 1, "language": "python"}),
        json!({"code": "", "language": "python", "run_timeout": "soon"}),
        json!({"code": "", "language": "python", "run_timeout": 0}),
        json!({"code": "", "language": "python", "stdin": []}),
        json!([]),
    ] {
        assert!(status(422, parse(&request)), "{request}");
    }
    let languages = Languages::pretended(&["python"]);
    for body in ["", "{", "{\"code\": \"\u{1}\"}", "nonsense"] {
        assert!(status(400, RunCode::parse(body.as_bytes(), &languages, &CAPS)), "{body}");
    }
}

#[test]
fn files_and_other_languages_are_a_sandbox_error() {
    for (request, part) in [
        (json!({"code": "", "language": "cpp"}), "`cpp`"),
        (json!({"code": "", "language": "python", "files": {"a": null, "b": "eA=="}}), "`b`"),
    ] {
        let RunCode::Impossible(message) = parse(&request).unwrap() else { panic!("{request}") };
        assert!(message.contains(part), "{message}");
    }
    let fetching =
        json!({"code": "", "language": "python", "files": {"a": null}, "fetch_files": ["a"]});
    assert!(plan(&fetching).remark.contains("fetch_files"));
}

#[test]
fn an_answer_has_sandbox_fusions_fields_and_ours() {
    let answer = answered(Ok(Ending::Exited { code: 0 }));
    assert_eq!(
        answer,
        json!({
            "status": "Success", "message": "", "compile_result": null,
            "run_result": {"status": "Finished", "execution_time": 1.5, "return_code": 0,
                "stdout": "out", "stderr": "err"},
            "executor_pod_name": null, "files": {},
            "troupe": {"outcome": "exited", "error": null, "fuel": 7, "memory_bytes": 8,
                "limits": {"fuel": 1_000, "timeout_ms": 10_000, "memory_mib": 512, "output_bytes": 64}}
        })
    );
}

#[test]
fn an_ending_is_told_as_that_of_an_ordinary_process() {
    let failed = Ending::Failed { error: "ValueError".to_owned(), trace: String::new() };
    for (ending, run, code, said) in [
        (Ending::Exited { code: 3 }, "Finished", json!(3), "err"),
        (Ending::Exited { code: -1 }, "Finished", json!(255), "err"),
        (failed, "Finished", json!(1), "err"),
        (Ending::Malformed { message: String::new() }, "Finished", json!(1), "err"),
        (
            Ending::OutOfFuel,
            "TimeLimitExceeded",
            Value::Null,
            "err\nstopped: more than 1000 units of fuel\n",
        ),
        (Ending::OutOfTime, "TimeLimitExceeded", Value::Null, "err\nstopped: more than 10000 ms\n"),
        (
            Ending::OutOfMemory,
            "Finished",
            json!(137),
            "err\nstopped: more than 512 MiB of memory\n",
        ),
        (
            Ending::OutputFlood,
            "Finished",
            json!(141),
            "err\nstopped: more than 64 bytes of output\n",
        ),
        (
            Ending::Crashed { message: "stack".to_owned() },
            "Finished",
            json!(134),
            "err\nstopped: the interpreter crashed: stack\n",
        ),
    ] {
        let word = ending.word();
        let answer = answered(Ok(ending));
        assert_eq!(answer["status"], "Failed", "{word}");
        assert_eq!(answer["troupe"]["outcome"], word);
        let result = &answer["run_result"];
        assert_eq!((&result["status"], &result["return_code"]), (&json!(run), &code), "{word}");
        assert_eq!(result["stderr"], said, "{word}");
    }
}

#[test]
fn a_failure_of_the_harness_is_a_sandbox_error_without_a_result() {
    let answer = answered(Err(SandboxError::harness("lost")));
    assert_eq!(answer["status"], "SandboxError");
    assert_eq!(answer["message"], "the sandbox failed: lost");
    assert_eq!((&answer["run_result"], &answer["troupe"]), (&Value::Null, &Value::Null));
}
