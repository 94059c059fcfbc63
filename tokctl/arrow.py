import pyarrow as pa, zlib
from tokctl import _native
def table_of_counts(counts, source):
    items=counts.items()
    return pa.table({"pre_token":pa.array([w for w,_ in items],pa.large_binary()),"count":pa.array([c for _,c in items],pa.uint64()),"source":pa.array([source]*len(items),pa.uint64()),"place":pa.array(range(len(items)),pa.uint64())})
def merge_counts(tables):
    d={}
    for t in tables:
        for w,c,s,p in zip(*(t[n].to_pylist() for n in ("pre_token","count","source","place"))):
            o=d.get(w); d[w]=(c,(s,p)) if o is None else (o[0]+c,min(o[1],(s,p)))
    rows=sorted(d.items(),key=lambda r:r[1][1])
    return pa.table({"pre_token":pa.array([r[0] for r in rows],pa.large_binary()),"count":pa.array([r[1][0] for r in rows],pa.uint64()),"source":pa.array([r[1][1][0] for r in rows],pa.uint64()),"place":pa.array([r[1][1][1] for r in rows],pa.uint64())})
def partition_counts(t,n):
    h=[zlib.crc32(w)%n for w in t["pre_token"].to_pylist()]
    return [t.filter(pa.array([x==k for x in h],pa.bool_())) for k in range(n)]
def counts_from_table(t):
    c=_native.Counter("none",[],1)
    for w,n in zip(t["pre_token"].to_pylist(),t["count"].to_pylist()): c.add(w,n)
    return c.finish(1)
def encode_table(table, model, text="text"): ...
