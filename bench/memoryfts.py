# Reads one line with all texts, then one line for each question; answers each with the numbers of the texts, best first.
import json
import re
import sqlite3
import sys

operator = {"AND": " ", "OR": " OR "}[sys.argv[1]]
db = sqlite3.connect(":memory:")
db.execute("create virtual table t using fts5(x, tokenize='%s')" % {"": "unicode61", "porter": "porter unicode61", "trigram": "trigram"}[sys.argv[2]])
texts = json.loads(sys.stdin.readline())
db.executemany("insert into t(rowid, x) values (?, ?)", list(enumerate(texts)))
for line in sys.stdin:
    asked = json.loads(line)
    words = re.findall(r"\w+", asked["q"])
    found = []
    if words:
        query = operator.join('"%s"' % word for word in words)
        found = [row[0] for row in db.execute("select rowid from t where t match ? order by rank limit ?", (query, asked["n"]))]
    print(json.dumps(found), flush=True)
