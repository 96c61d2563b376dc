import re,os,glob,sys
root=sys.argv[1]; yml=sys.argv[2]
pairs=re.findall(r'oldFullyQualifiedTypeName: (\S+)\n\s+newFullyQualifiedTypeName: (\S+)',open(yml).read())
top={o:n for o,n in pairs if '$' not in o}
nested=[(o,n) for o,n in pairs if '$' in o]
newnested={}
for o,n in nested: newnested.setdefault(o.split('$')[0],set()).add(n.split('$',1)[1].split('$')[0])
files=[f for f in glob.glob(f'{root}/sluice-*/src/*/java*/**/*.java',recursive=True)]
cnt=0
def modpk(fqn): return '.'.join(fqn.split('.')[:-1])
for f in files:
    s=open(f).read(); t=s
    # imports of nested types under the old name
    def imp(m):
        q=m.group(2)
        parts=q.split('.')
        for i in range(len(parts)-1,1,-1):
            p='.'.join(parts[:i])
            if p in top: return m.group(1)+top[p]+'.'+'.'.join(parts[i:])+';'
        return m.group(0)
    t=re.sub(r'^(import (?:static )?)([\w.]+);',imp,t,flags=re.M)
    mod=re.search(r'/sluice-([\w-]+)/',f).group(1)
    for o,names in newnested.items():
        if o not in top: continue
        old=o.rsplit('.',1)[1]; new=top[o].rsplit('.',1)[1]
        if old==new: continue
        for n in names:
            t=re.sub(r'(?<![\w.])'+old+r'\.'+n+r'\b',new+'.'+n,t)
    if t!=s: open(f,'w').write(t); cnt+=1
print('files',cnt)
