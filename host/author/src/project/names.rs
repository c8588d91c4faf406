//! Names that a project cannot have: what a language, its library or the SDK means by them is
//! hidden by the project's own files, or the other way round, and what then breaks is something
//! else entirely.

use super::language::{Kind, Language};
use super::manifest::ProjectManifest;

/// Names, in snake case and parted by spaces, and what they are.
type Words = (&'static str, &'static str);

/// What begins with, or ends like this, is taken for something else.
struct Affix {
    before: bool,
    text: &'static str,
    why: &'static str,
}

/// Why nothing can be called so.
pub(super) fn objection(manifest: &ProjectManifest) -> Option<String> {
    let (snake, pascal) = (manifest.snake(), manifest.pascal());
    let language = manifest.language;
    let named = |words: &str, name: &str| words.split_whitespace().any(|word| word == name);
    let word = words(language).iter().find(|(words, _)| named(words, &snake));
    if let Some((_, what)) = word {
        return Some(format!("is {what}"));
    }
    let classes = classes(language, manifest.kind);
    if let Some((_, what)) = classes.iter().find(|(words, _)| named(words, &pascal)) {
        return Some(format!("would be written `{pascal}` there, which is {what}"));
    }
    let fits = |affix: &&Affix| match affix.before {
        true => snake.starts_with(affix.text),
        false => snake.ends_with(affix.text),
    };
    affixes(language).iter().find(fits).map(|affix| affix.why.to_owned())
}

/// A name like this one that nothing speaks against.
pub(super) fn proposal(manifest: &ProjectManifest) -> Option<String> {
    let ending = match manifest.kind {
        Kind::Environment => "game",
        Kind::Workflow => "team",
    };
    let name = &manifest.name;
    let candidates =
        [format!("{name}-{ending}"), format!("my-{name}"), format!("my-{name}-{ending}")];
    let named = |name: &String| ProjectManifest { name: name.clone(), ..manifest.clone() };
    candidates
        .into_iter()
        .find(|name| named(name).check().is_ok() && objection(&named(name)).is_none())
}

/// Names of files that cannot be.
fn words(language: Language) -> &'static [Words] {
    match language {
        Language::Rust => &[
            (RUST_KEYWORDS, "a keyword of Rust"),
            (RUST_LIBRARY, "a crate that comes with Rust"),
            (RUST_DEPENDENCIES, "a crate that every project depends on"),
            ("sdk wit", "a part of every project"),
        ],
        Language::Python => &[
            (PYTHON_KEYWORDS, "a keyword of Python"),
            (PYTHON_LIBRARY, "a module of Python's library, which the project's own would hide"),
            (PYTHON_SDK, "a module of the SDK, or of what makes a component"),
            ("sdk wit test tests venv", "a part of every project"),
        ],
        Language::JavaScript => &[
            (JAVASCRIPT_KEYWORDS, "a reserved word of JavaScript"),
            (NODE_LIBRARY, "a module of Node.js"),
            ("troupe_plugin componentize_qjs", "a package that every project depends on"),
            ("sdk wit build node_modules index", "a part of every project"),
        ],
        Language::C => &[
            (C_KEYWORDS, "a keyword of C"),
            (C_HEADERS, "a header of C's library"),
            (C_SYMBOLS, "a name of C's library"),
            (C_SDK, "a file of the SDK"),
            ("sdk wit build test", "a part of every project"),
        ],
    }
}

/// Names that types cannot have: a project's own type is named after the project.
fn classes(language: Language, kind: Kind) -> &'static [Words] {
    const USED: &str = "what every project uses something else by";
    match (language, kind) {
        (Language::Rust, Kind::Environment) => &[
            (RUST_PRELUDE, "a name that Rust knows everywhere"),
            (
                "Action Configuration Configured Description Environment Outcome Problem Random Seat Split \
              Task TURNS Serialize Deserialize",
                USED,
            ),
        ],
        (Language::Rust, Kind::Workflow) => &[
            (RUST_PRELUDE, "a name that Rust knows everywhere"),
            (
                "Action ActionKind Briefing Configuration Configured Description Event Kinds Problem Prompt \
              RolePrompt Seat Step Workflow PROPOSER PLAYER TO_READ Serialize Deserialize",
                USED,
            ),
        ],
        (Language::Python, Kind::Environment) => &[(
            "Action Configuration Description Environment Outcome Rules Seat Settings Task TURNS \
              TestCase",
            USED,
        )],
        (Language::Python, Kind::Workflow) => &[(
            "Action ActionKind Briefing Configuration Consequence Description Guess Reply Request Seat \
              Settings Stage Step TestCase Turns View Workflow",
            USED,
        )],
        (Language::JavaScript, Kind::Environment) => &[
            (JAVASCRIPT_GLOBALS, "a name that JavaScript knows everywhere"),
            ("Environment Outcome TURNS WORDS", USED),
        ],
        (Language::JavaScript, Kind::Workflow) => &[
            (JAVASCRIPT_GLOBALS, "a name that JavaScript knows everywhere"),
            ("Door Environment Outcome Step Workflow", USED),
        ],
        (Language::C, _) => &[],
    }
}

fn affixes(language: Language) -> &'static [Affix] {
    match language {
        Language::Python => &[Affix {
            before: true,
            text: "test_",
            why: "begins with `test`, so that its file would be taken for a test of the project",
        }],
        Language::C => &[Affix {
            before: false,
            text: "_test",
            why: "ends with `test`, so that its file would be taken for the project's test",
        }],
        Language::Rust | Language::JavaScript => &[],
    }
}

/// Keywords of all editions, and reserved ones.
const RUST_KEYWORDS: &str = "\
    abstract as async await become box break const continue crate do dyn else enum extern false \
    final fn for gen if impl in let loop macro match mod move mut override priv pub ref return \
    self static struct super trait true try type typeof union unsafe unsized use virtual where \
    while yield";
/// What lies in the folder of a Rust compiler.
const RUST_LIBRARY: &str = "\
    alloc core proc_macro std test compiler_builtins panic_abort panic_unwind profiler_builtins \
    std_detect unwind";
/// The SDK and what it needs.
const RUST_DEPENDENCIES: &str = "\
    plugin_sdk postcard serde serde_core serde_derive serde_json thiserror thiserror_impl \
    wit_bindgen";
/// The prelude, and what is derived by name.
const RUST_PRELUDE: &str = "\
    Self Option Some None Result Ok Err String Vec Box ToString ToOwned Clone Copy Send Sync \
    Sized Unpin Drop Fn FnMut FnOnce AsRef AsMut Into From TryInto TryFrom FromIterator \
    IntoIterator Iterator Extend DoubleEndedIterator ExactSizeIterator Default Debug Hash Eq \
    PartialEq Ord PartialOrd Future IntoFuture";
/// In lower case: a class named after the project has a capital, as three of them have.
const PYTHON_KEYWORDS: &str = "\
    and as assert async await break class continue def del elif else except false finally for \
    from global if import in is lambda none nonlocal not or pass raise return true try while \
    with yield";
/// Of 3.10 to 3.14, those that are gone by then included.
const PYTHON_LIBRARY: &str = "\
    abc aifc annotationlib antigravity argparse array ast asynchat asyncio asyncore atexit \
    audioop base64 bdb binascii binhex bisect builtins bz2 calendar cgi cgitb chunk cmath cmd \
    code codecs codeop collections colorsys compileall compression concurrent configparser \
    contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal \
    difflib dis distutils doctest email encodings ensurepip enum errno faulthandler fcntl \
    filecmp fileinput fnmatch formatter fractions ftplib functools gc genericpath getopt getpass \
    gettext glob graphlib grp gzip hashlib heapq hmac html http idlelib imaplib imghdr imp \
    importlib inspect io ipaddress itertools json keyword lib2to3 linecache locale logging lzma \
    mailbox mailcap marshal math mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc \
    nis nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev parser \
    pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint \
    profile pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re \
    readline reprlib resource rlcompleter runpy sched secrets select selectors shelve shlex \
    shutil signal site sitecustomize smtpd smtplib sndhdr socket socketserver spwd sqlite3 \
    sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct subprocess \
    sunau symbol symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios \
    textwrap this threading time timeit tkinter token tokenize tomllib trace traceback \
    tracemalloc tty turtle turtledemo types typing unicodedata unittest urllib usercustomize uu \
    uuid venv warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp \
    zipfile zipimport zlib zoneinfo";
/// The modules of `troupe_plugin`, and those that a component has besides.
const PYTHON_SDK: &str = "\
    author build chance component environment log reading rendering retrieval sandbox settings \
    state testing types workflow componentize_py componentize_py_runtime componentize_py_types \
    componentize_py_async_support poll_loop troupe_component troupe_environment troupe_plugin \
    troupe_rendering troupe_workflow wit_world";
/// Reserved always, in modules, or where they stand.
const JAVASCRIPT_KEYWORDS: &str = "\
    arguments as async await break case catch class const continue debugger default delete do \
    else enum eval export extends false finally for from function get if implements import in \
    instanceof interface let new null of package private protected public return set static \
    super switch this throw true try typeof undefined var void while with yield";
/// Of Node.js 18 to 24.
const NODE_LIBRARY: &str = "\
    assert async_hooks buffer child_process cluster console constants crypto dgram \
    diagnostics_channel dns domain events fs http http2 https inspector module net os path \
    perf_hooks process punycode querystring readline repl sea sqlite stream string_decoder sys \
    test timers tls trace_events tty url util v8 vm wasi worker_threads zlib";
/// Of the language, and what Node.js adds.
const JAVASCRIPT_GLOBALS: &str = "\
    Object Function Array Number Infinity NaN Boolean String Symbol Date Promise RegExp Error \
    AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError JSON Math \
    Intl Iterator ArrayBuffer DataView Map BigInt Set WeakMap WeakSet WeakRef Proxy Reflect \
    Buffer URL Event EventTarget Blob File Headers Request Response Atomics Crypto Performance \
    WebAssembly";
/// Of C11 and C23.
const C_KEYWORDS: &str = "\
    alignas alignof asm auto bool break case char const constexpr continue default do double \
    else enum extern false float for goto if inline int long nullptr register restrict return \
    short signed sizeof static static_assert struct switch thread_local true typedef typeof \
    typeof_unqual union unsigned void volatile while";
/// Of C23, and the two of POSIX that everybody includes.
const C_HEADERS: &str = "\
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal \
    stdalign stdarg stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn \
    string strings tgmath threads time uchar unistd wchar wctype";
/// Functions and variables of C's library and of POSIX, the short ones.
const C_SYMBOLS: &str = "\
    abort abs access acos acosh alarm aligned_alloc asctime asin asinh atan atan2 atanh atexit \
    atof atoi atol bcmp bcopy bind brk bsearch bzero calloc cbrt ceil chdir chmod chown clearerr \
    clock close connect copysign cos cosh creat ctime daemon difftime div dup environ erf erfc \
    errno exec execl execv exit exp exp2 expm1 fabs fclose fdim feof ferror fflush fgetc fgets \
    floor fma fmax fmin fmod fopen fork fprintf fputc fputs fread free freopen frexp fscanf \
    fseek ftell fwrite getc getchar getenv getpid gets gmtime hypot index ioctl isalnum isalpha \
    isdigit islower isspace isupper kill labs ldexp lgamma link listen localtime log log10 log2 \
    longjmp lseek main malloc mblen memchr memcmp memcpy memmove memset mkdir mktime modf nan \
    nice open pause perror pipe poll pow printf putc putchar putenv puts qsort raise rand random \
    read realloc recv remainder remove rename rewind rindex rint round sbrk scanf select send \
    setbuf setenv setjmp shutdown signal sin sinh sleep snprintf socket sprintf sqrt srand \
    srandom sscanf stat stderr stdin stdout strcat strchr strcmp strcpy strdup strerror strlen \
    strncpy strrchr strstr strtok strtol swab symlink sync system tan tanh tgamma time timer \
    tmpfile tolower toupper trunc truncate umask ungetc unlink usleep vfork vprintf wait write";
/// The files in `sdk`.
const C_SDK: &str = "\
    abi component plugin reading testing troupe workflow";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::template::below;

    fn manifest(language: Language, kind: Kind, name: &str) -> ProjectManifest {
        ProjectManifest { name: name.to_owned(), language, kind }
    }

    const LANGUAGES: [Language; 4] =
        [Language::Rust, Language::Python, Language::JavaScript, Language::C];
    const KINDS: [Kind; 2] = [Kind::Environment, Kind::Workflow];

    #[test]
    fn a_name_that_means_something_else_is_refused_with_one_that_does_not() {
        use Language::{C, JavaScript, Python, Rust};
        for (language, names) in [
            (Python, "random json typing dataclasses types class import none true test-maze sdk"),
            (
                Python,
                "troupe-plugin troupe-component wit-world environment outcome settings distutils",
            ),
            (
                Rust,
                "match self async fn gen core std test alloc serde serde-json plugin-sdk option vec",
            ),
            (Rust, "panic-abort proc-macro wit-bindgen random t-u-r-n-s"),
            (
                JavaScript,
                "class await fs path http buffer map array infinity na-n j-s-o-n outcome index",
            ),
            (JavaScript, "troupe-plugin componentize-qjs test child-process"),
            (C, "int default main exit printf stdio string math my-test bool random troupe"),
        ] {
            for (name, kind) in names.split(' ').flat_map(|name| KINDS.map(|kind| (name, kind))) {
                let manifest = manifest(language, kind, name);
                // What one kind of project uses the other need not.
                let Err(error) = manifest.check_new() else {
                    let is_of_other = KINDS.iter().any(|&kind| {
                        ProjectManifest { kind, ..manifest.clone() }.check_new().is_err()
                    });
                    assert!(is_of_other, "{language:?}: `{name}` was taken");
                    continue;
                };
                let free = proposal(&manifest).unwrap();
                assert!(error.to_string().contains(&free), "{error}");
                assert!(ProjectManifest { name: free, ..manifest }.check_new().is_ok(), "{error}");
            }
        }
    }

    #[test]
    fn names_that_mean_nothing_else_are_free_in_every_language() {
        for name in ["riddle", "maze", "my-2nd-game", "hanoi", "tic-tac-toe", "pair", "a", "latest"]
        {
            for (language, kind) in
                LANGUAGES.into_iter().flat_map(|it| KINDS.map(|kind| (it, kind)))
            {
                let found = manifest(language, kind, name).check_new();
                assert!(found.is_ok(), "{language:?}: {found:?}");
            }
        }
    }

    /// Texts and comments name things that nobody can hide.
    fn code_of(text: &str, language: Language) -> String {
        let comment = if language == Language::Python { "#" } else { "//" };
        let docs = text.split("\"\"\"").step_by(2).collect::<String>();
        let line = |line: &str| {
            let bare = line.split('"').step_by(2).collect::<String>();
            let bare = bare.split('\'').step_by(2).collect::<String>();
            let bare = bare.split('`').step_by(2).collect::<String>();
            bare.split(comment).next().unwrap_or_default().to_owned() + "\n"
        };
        docs.lines().map(line).collect()
    }

    /// The name of a project whose class would be called so.
    fn named_like(class: &str) -> String {
        let letter = |(place, letter): (usize, char)| match letter.is_ascii_uppercase() {
            true if place > 0 => format!("-{}", letter.to_ascii_lowercase()),
            _ => letter.to_ascii_lowercase().to_string(),
        };
        class.char_indices().map(letter).collect()
    }

    #[test]
    fn what_a_template_uses_by_name_no_project_is_called() {
        for (language, kind) in LANGUAGES.into_iter().flat_map(|it| KINDS.map(|kind| (it, kind))) {
            if language == Language::C {
                // Nothing in it is called like the project.
                continue;
            }
            let folder = format!("plugin-sdk/templates/{}/{}/", language.word(), kind.word());
            let endings = [".rs", ".py", ".js"];
            let sources =
                below(&folder).filter(|(name, _)| endings.iter().any(|it| name.ends_with(it)));
            let mut used = 0;
            for (_, bytes) in sources {
                let code = code_of(&String::from_utf8_lossy(bytes), language);
                let code =
                    code.replace("{{Name}}", "").replace("{{name_}}", "").replace("{{name}}", "");
                // What belongs to something else, as `Event::Acted` does, is not hidden.
                let code = code.replace("::{", " {").replace("::", "::_").replace('.', "._");
                let words =
                    code.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
                let classes = words.filter(|word| {
                    word.starts_with(|letter: char| letter.is_ascii_uppercase())
                        && !word.contains('_')
                });
                for class in classes {
                    let manifest = manifest(language, kind, &named_like(class));
                    assert_eq!(manifest.pascal(), class);
                    assert!(objection(&manifest).is_some(), "{folder}: `{class}` is not refused");
                    used += 1;
                }
            }
            assert!(used > 3, "{folder}");
        }
    }
}
