"""Indexes and searches the same words with another engine: tantivy or xapian.

Arguments: the engine, a file with a document a line, a file of queries as JSON, a directory. For each line on standard
input, `build` or `search`, it prints a line of JSON.
"""

import json
import os
import shutil
import sys
import time

ENGINE, TEXTS, QUERIES, DIR = sys.argv[1:]
TEXTS = [line.rstrip("\n") for line in open(TEXTS)]
QUERIES = json.load(open(QUERIES))


class Tantivy:
    def __init__(self):
        import tantivy

        self.t = tantivy

    def build(self, dir):
        schema = self.t.SchemaBuilder()
        schema.add_text_field("text", stored=False, tokenizer_name="whitespace", index_option="position")
        self.index = self.t.Index(schema.build(), path=dir)
        writer = self.index.writer(256_000_000, 1)
        for text in TEXTS:
            writer.add_document(self.t.Document(text=text))
        writer.commit()
        writer.wait_merging_threads()
        self.index.reload()
        self.searcher = self.index.searcher()
        return self.searcher.num_segments

    def query(self, kind, words):
        schema, q = self.index.schema, self.t.Query
        if kind.startswith("phrase"):
            return q.phrase_query(schema, "text", words)
        occur = self.t.Occur.Must if kind.startswith("and") else self.t.Occur.Should
        return q.boolean_query([(occur, q.term_query(schema, "text", word)) for word in words])

    def found(self, query, count):
        result = self.searcher.search(query, limit=10, count=count)
        return result.count if count else len(result.hits)


class Xapian:
    def __init__(self):
        import xapian

        self.x = xapian

    def build(self, dir):
        x = self.x
        database = x.WritableDatabase(dir + "/raw", x.DB_CREATE_OR_OPEN)
        for text in TEXTS:
            document = x.Document()
            for position, word in enumerate(text.split(" ")):
                document.add_posting(word, position)
            database.add_document(document)
        database.commit()
        database.compact(dir + "/compact")
        database.close()
        shutil.rmtree(dir + "/raw")
        self.database = x.Database(dir + "/compact")
        return 1

    def query(self, kind, words):
        operators = {"and": self.x.Query.OP_AND, "or": self.x.Query.OP_OR, "phrase": self.x.Query.OP_PHRASE}
        return self.x.Query(operators[kind.split(" ")[0]], words)

    def found(self, query, count):
        search = self.x.Enquire(self.database)
        search.set_query(query)
        return search.get_mset(0, 10, len(TEXTS) if count else 0).get_matches_estimated()


def size(dir):
    files = [os.path.join(base, name) for base, _, names in os.walk(dir) for name in names]
    return sum(os.path.getsize(file) for file in files if not file.endswith(".store"))


engine = {"tantivy": Tantivy, "xapian": Xapian}[ENGINE]()
queries = None
for line in sys.stdin:
    if line.strip() == "build":
        shutil.rmtree(DIR, ignore_errors=True)
        os.mkdir(DIR)
        start = time.process_time()
        segments = engine.build(DIR)
        answer = {"cpu": time.process_time() - start, "bytes": size(DIR), "segments": segments}
        queries = {kind: [engine.query(kind, words) for words in all] for kind, all in QUERIES.items()}
    else:
        answer = {}
        for kind, all in queries.items():
            for name, count in [(kind, True), (kind + ", uncounted", False)]:
                start = time.process_time()
                found = sum(engine.found(query, count) for query in all)
                answer[name] = {"seconds": time.process_time() - start, "found": found}
    print(json.dumps(answer), flush=True)
