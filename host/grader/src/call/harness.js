// Calls one function of a program with the arguments on standard input, a JSON
// list on one line, and writes what it returns as a line of JSON after a marker.
(function () {
  const MARKER = "@MARKER@";
  const FUNCTION = "@FUNCTION@";
  const SOURCE = "@SOURCE@";

  // Engines differ in how standard input is read.
  function readInput() {
    if (typeof readline === "function") return readline();
    if (typeof std === "object" && std.in) return std.in.getline();
    if (typeof require === "function") return require("fs").readFileSync(0, "utf8");
    throw new Error("this engine has no way to read standard input");
  }

  function encode(value, path) {
    if (value === null || value === undefined) return "null";
    if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint") {
      return Object.is(value, -0) ? "0" : String(value);
    }
    if (typeof value === "string") return JSON.stringify(value);
    const plain = Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null;
    const known = typeof value === "object" && (Array.isArray(value) || value instanceof Map || plain);
    if (!known || path.includes(value) || path.length > 300) {
      return '{"__troupe__": ["other", "object"]}';
    }
    path = path.concat([value]);
    const item = (x) => encode(x, path);
    if (Array.isArray(value)) return "[" + Array.from(value, item).join(",") + "]";
    const pairs = value instanceof Map ? Array.from(value) : Object.entries(value);
    if (pairs.every(([key]) => typeof key === "string" && key !== "__troupe__")) {
      return "{" + pairs.map(([key, x]) => JSON.stringify(key) + ":" + item(x)).join(",") + "}";
    }
    const listed = pairs.map(([key, x]) => "[" + item(key) + "," + item(x) + "]");
    return '{"__troupe__": ["dict", [' + listed.join(",") + "]]}";
  }

  const print_line = (line) => console.log(line);
  const args = JSON.parse(readInput().split("\n")[0]);
  const lookUp =
    ";return typeof Solution === 'function' && typeof Solution.prototype === 'object' && FUNCTION in Solution.prototype" +
    " ? ((s) => s[FUNCTION].bind(s))(new Solution())" +
    " : eval('typeof ' + FUNCTION + ' === \"function\" ? ' + FUNCTION + ' : undefined');";
  const found = new Function("FUNCTION", SOURCE + "\n" + lookUp)(FUNCTION);
  if (typeof found !== "function") throw new ReferenceError("the program has no function " + FUNCTION);
  print_line("\n" + MARKER + encode(found(...args), []));
})();
