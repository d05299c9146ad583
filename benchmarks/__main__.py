"""Print one table of all benchmarks."""

from benchmarks import engine, imports, processes

print("| what | ours | peer | ratio | target | |")
print("| --- | --- | --- | --- | --- | --- |")
for row in (*processes.rows(), *engine.rows()):
    print(row, flush=True)
for line in imports.lines():
    print(line, flush=True)
