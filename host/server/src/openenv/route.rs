//! Where things can be asked.

use hyper::Method;

use super::task_list::Question;
use crate::refusal::Refusal;

/// The paths, for the error message about another one.
const PATHS: &str = "/ws, /health, /metadata, /schema, /openapi.json, /reset, /step, /state, /mcp, \
                     /list_environments, /<name>/splits and, for people, /";

/// What is asked.
#[derive(Debug, PartialEq)]
pub(super) enum Route {
    Health,
    Metadata,
    Schema,
    OpenApi,
    /// A session for as long as the socket is open.
    Socket,
    /// The same in JSON-RPC.
    McpSocket,
    Mcp,
    Reset,
    Step,
    State,
    Environments,
    Splits(String),
    Tasks(String, Question),
}

impl Route {
    /// What is asked by this method at this path.
    pub(super) fn of(method: &Method, path: &str) -> Result<Self, Refusal> {
        let route = match path {
            "/health" => Route::Health,
            "/metadata" => Route::Metadata,
            "/schema" => Route::Schema,
            "/openapi.json" => Route::OpenApi,
            "/ws" => Route::Socket,
            "/mcp" if *method == Method::GET => Route::McpSocket,
            "/mcp" => Route::Mcp,
            "/reset" => Route::Reset,
            "/step" => Route::Step,
            "/state" => Route::State,
            "/list_environments" => Route::Environments,
            _ => of_tasks(path).ok_or_else(|| Refusal::no_such_path(path, PATHS))?,
        };
        let (allowed, word) = match route {
            Route::Mcp | Route::Reset | Route::Step | Route::Tasks(..) => (Method::POST, "POST"),
            _ => (Method::GET, "GET"),
        };
        if *method == allowed { Ok(route) } else { Err(Refusal::wrong_method(word)) }
    }
}

fn of_tasks(path: &str) -> Option<Route> {
    let (name, question) = path.strip_prefix('/')?.split_once('/')?;
    let name = name.to_owned();
    Some(match question {
        "splits" => Route::Splits(name),
        "num_tasks" => Route::Tasks(name, Question::Count),
        "tasks" => Route::Tasks(name, Question::All),
        "task" => Route::Tasks(name, Question::One),
        "task_range" => Route::Tasks(name, Question::Range),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_takes_one_method_and_others_are_refused() {
        assert_eq!(Route::of(&Method::GET, "/ws").unwrap(), Route::Socket);
        assert_eq!(Route::of(&Method::POST, "/mcp").unwrap(), Route::Mcp);
        assert_eq!(Route::of(&Method::GET, "/mcp").unwrap(), Route::McpSocket);
        let task = Route::Tasks("sudoku".to_owned(), Question::One);
        assert_eq!(Route::of(&Method::POST, "/sudoku/task").unwrap(), task);
        for (method, path) in [
            (Method::POST, "/ws"),
            (Method::GET, "/reset"),
            (Method::DELETE, "/mcp"),
            (Method::GET, "/../etc/passwd"),
            (Method::GET, "//splits/"),
            (Method::GET, "/sudoku/"),
        ] {
            assert!(Route::of(&method, path).is_err(), "{method} {path}");
        }
    }
}
