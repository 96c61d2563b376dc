import sys,csv,os,re,subprocess,glob
root=sys.argv[1]; out=sys.argv[2]; mods=set(sys.argv[3].split(',')) if len(sys.argv)>3 else None
base={'core':'dev.sluice','redis':'dev.sluice.redis','broker':'dev.sluice.broker','governor':'dev.sluice.governor','governor-redis':'dev.sluice.governor.redis','client':'dev.sluice.client','server':'dev.sluice.server','cli':'dev.sluice.cli','testkit':'dev.sluice.testkit'}
# index: (module, simple name) -> actual FQN
idx={}
for m in base:
    for f in glob.glob(f'{root}/sluice-{m}/src/main/java/**/*.java',recursive=True):
        n=os.path.basename(f)[:-5]
        if n in('package-info','module-info'): continue
        pkg=os.path.relpath(os.path.dirname(f),f'{root}/sluice-{m}/src/main/java').replace('/','.')
        idx[(m,n)]=pkg
rows=[]
for line in open(f'{root}/config/renames/renames.tsv'):
    if line.startswith('# part 2'): break
    if line.startswith('#'): continue
    c=line.rstrip('\n').split('\t')
    if len(c)<5: continue
    rows.append(c)
top={};miss=[]
recipes=[]
for m,old,new,pkg,act,*n in rows:
    if mods and m not in mods: continue
    if act in('keep','move','rename','rename+move'):
        if (m,old) not in idx: miss.append((m,old,act)); continue
        o=idx[(m,old)]+'.'+old; nn=pkg+'.'+new
        top[(m,old)]=(o,nn)
for m,old,new,pkg,act,*n in rows:
    if mods and m not in mods: continue
    if act=='nested' and '.' in old and '.' in new:
        oo,on=old.split('.',1); no,nn=new.split('.',1)
        if (m,oo) in top:
            o,t=top[(m,oo)]
            if t.rsplit('.',1)[1]!=no: miss.append((m,old,new,'outer differs')); continue
            recipes.append((o+'$'+on.replace('.','$'), o+'$'+nn.replace('.','$')))
        else: miss.append((m,old,new,'outer unknown'))
for k,(o,t) in top.items():
    if o!=t: recipes.append((o,t))
# unmapped types
un=[k for k in idx if k not in top and (not mods or k[0] in mods) and k[0]!='testkit']
with open(out,'w') as f:
    f.write('type: specs.openrewrite.org/v1beta/recipe\nname: dev.sluice.Rename\ndisplayName: Rename\ndescription: Rename.\nrecipeList:\n')
    for o,t in recipes:
        f.write(f'  - org.openrewrite.java.ChangeType:\n      oldFullyQualifiedTypeName: {o}\n      newFullyQualifiedTypeName: {t}\n      ignoreDefinition: false\n')
print(len(recipes),'recipes');print('missing',miss);print('unmapped',[(k,idx[k]) for k in un])
