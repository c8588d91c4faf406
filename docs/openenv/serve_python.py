"""Serves Python environments to OpenEnv's clients; needs nothing but Python and the environment.

    python3 serve_python.py gymnasium FrozenLake-v1 --options '{"is_slippery": false}'
    python3 serve_python.py pettingzoo pettingzoo.classic.tictactoe_v3
    python3 serve_python.py textarena GuessTheNumber-v0
    python3 serve_python.py my_module:MyEnvironment     # reset(seed) and step(text), as below
"""

import argparse, base64, hashlib, importlib, json, struct
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WEBSOCKET = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Gymnasium:
    """One player; `reset` returns what can be seen, `step` also reward, end and what else is known."""

    def __init__(self, name, **options):
        self.env = importlib.import_module("gymnasium").make(name, **options)

    def reset(self, seed):
        return str(self.env.reset(seed=seed)[0])

    def step(self, text):
        seen, reward, ended, cut, _ = self.env.step(type(self.env.action_space.sample())(json.loads(text)))
        return str(seen), float(reward), ended or cut, {"truncated": cut}


class PettingZoo:
    """Players in turn (AEC). Whoever plays next is told what it sees; rewards are by player."""

    def __init__(self, module, **options):
        self.env = importlib.import_module(module).env(**options)

    def look(self):
        return f"{self.env.agent_selection}\n{self.env.observe(self.env.agent_selection)}"

    def reset(self, seed):
        self.env.reset(seed=seed)
        return self.look()

    def step(self, text):
        mover = self.env.agent_selection
        self.env.step(json.loads(text))
        done = all(self.env.terminations.values()) or all(self.env.truncations.values())
        return self.look(), float(self.env.rewards.get(mover, 0)), done, {"role": mover}


class TextArena:
    """One player or several in turn; rewards come at the end, and are the first player's."""

    def __init__(self, name, players=1, **options):
        self.env, self.players = importlib.import_module("textarena").make(name, **options), players

    def reset(self, seed):
        self.env.reset(num_players=self.players, seed=seed)
        return self.env.get_observation()[1]

    def step(self, text):
        done, _ = self.env.step(text)
        if not done:
            return self.env.get_observation()[1], 0.0, False, {}
        return "It is over.", float(self.env.close()[0].get(0, 0)), True, {}


class Handler(BaseHTTPRequestHandler):
    protocol_version, make, name = "HTTP/1.1", None, ""
    action = {"text": {"type": "string", "description": "the action, as the environment takes it"}}

    def do_GET(self):
        if self.headers.get("Upgrade", "").lower() == "websocket":
            return self.session()
        kinds = {"type": "object", "properties": self.action, "required": ["text"]}
        answers = {"/health": {"status": "healthy"}, "/schema": {"action": kinds, "observation": {}, "state": {}},
                   "/metadata": {"name": self.name, "description": self.name, "version": "1"}}
        body = json.dumps(answers.get(self.path, {})).encode()
        self.send_response(200 if self.path in answers else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def session(self):
        key = hashlib.sha1(self.headers["Sec-WebSocket-Key"].encode() + WEBSOCKET).digest()
        self.send_response(101)
        for header in (("Upgrade", "websocket"), ("Connection", "Upgrade"),
                       ("Sec-WebSocket-Accept", base64.b64encode(key).decode())):
            self.send_header(*header)
        self.end_headers()
        self.close_connection = True
        while (asked := self.receive()) is not None:
            self.send(0x81, json.dumps(self.answer(json.loads(asked))).encode())

    def answer(self, asked):
        data, is_reset = asked.get("data", {}), asked["type"] == "reset"
        try:
            if is_reset:
                self.env = self.make()
                seen, reward, done, metadata = self.env.reset(data.get("seed", 0)), None, False, {}
            else:
                seen, reward, done, metadata = self.env.step(data["text"])
        except Exception as error:  # of a step: no action of the environment's; its episode goes on
            code = "EXECUTION_ERROR" if is_reset else "VALIDATION_ERROR"
            return {"type": "error", "data": {"code": code, "message": repr(error)}}
        observation = {"observation": {"text": seen}, "reward": reward, "done": done, "metadata": metadata}
        return {"type": "observation", "data": observation}

    def receive(self):
        """The text of the next message; None at the end. Pings are answered."""
        while len(head := self.rfile.read(2)) == 2:
            size = head[1] & 127
            if size > 125:
                size = struct.unpack(*((">H", self.rfile.read(2)) if size == 126 else (">Q", self.rfile.read(8))))[0]
            mask = self.rfile.read(4)
            text = bytes(byte ^ mask[at % 4] for at, byte in enumerate(self.rfile.read(size)))
            if head[0] & 15 == 1:
                return text
            if head[0] & 15 == 8:
                return None
            self.send(0x8A, text)

    def send(self, kind, body):
        size = len(body)
        head = bytes([size]) if size < 126 else struct.pack(">BH" if size < 65536 else ">BQ", 126 + (size > 65535), size)
        self.wfile.write(bytes([kind]) + head + body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help="gymnasium, pettingzoo, textarena, or module:Class")
    parser.add_argument("environment", nargs="?", default="", help="its name")
    parser.add_argument("--options", type=json.loads, default={}, help="what it is made with, as JSON")
    parser.add_argument("--port", type=int, default=8000)
    flags = parser.parse_args()
    own = {"gymnasium": Gymnasium, "pettingzoo": PettingZoo, "textarena": TextArena}
    module, _, name = flags.library.partition(":")
    wrapper = own.get(flags.library) or getattr(importlib.import_module(module), name)
    named = [flags.environment] if flags.environment else []
    Handler.make = staticmethod(lambda: wrapper(*named, **flags.options))
    Handler.name = flags.environment or name
    with ThreadingHTTPServer(("127.0.0.1", flags.port), Handler) as server:
        print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()
