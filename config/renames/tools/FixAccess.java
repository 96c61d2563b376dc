import com.sun.source.tree.*;
import com.sun.source.util.*;
import java.io.*;
import java.nio.file.*;
import java.util.*;
import java.util.regex.*;
import java.util.stream.*;
import javax.tools.*;

public class FixAccess {
  record Decl(Path file, long start, String kind, String cls, String name, int params, boolean ifaceMember, Set<javax.lang.model.element.Modifier> mods, String text) {}
  public static void main(String[] a) throws Exception {
    Path root = Path.of(a[0]);
    int rounds = Integer.parseInt(a[1]);
    String cp = Files.readAllLines(Path.of("classpath.txt")).stream().collect(Collectors.joining(":")) + ":" + root.resolve("sluice-proto/target/classes");
    Set<String> report = new TreeSet<>();
    for (int r = 0; r < rounds; r++) if (!round(root, cp, report)) break;
    Files.write(Path.of("published.txt"), report);
  }
  static boolean round(Path root, String cp, Set<String> report) throws Exception {
    List<Path> files;
    try (Stream<Path> s = Files.walk(root)) {
      files = s.filter(p -> { String q = root.relativize(p).toString(); return q.endsWith(".java") && q.contains("/src/") && !q.contains("/target/") && !q.endsWith("-info.java") && !q.startsWith("examples/"); }).toList();
    }
    JavaCompiler c = ToolProvider.getSystemJavaCompiler();
    StandardJavaFileManager fm = c.getStandardFileManager(null, null, null);
    List<Diagnostic<? extends JavaFileObject>> ds = new ArrayList<>();
    JavacTask t = (JavacTask) c.getTask(new PrintWriter(Writer.nullWriter()), fm, d -> { if (d.getKind() == Diagnostic.Kind.ERROR) ds.add(d); },
        List.of("-proc:none", "-nowarn", "-Xmaxerrs", "100000", "--release", "17", "-cp", cp, "-XDshould-stop.ifError=FLOW"), null, fm.getJavaFileObjectsFromPaths(files));
    Map<String, Decl> types = new HashMap<>(); // fqn with dots
    Map<String, List<Decl>> members = new HashMap<>(); // class fqn -> members
    Map<String, List<String>> bySimple = new HashMap<>();
    Map<Path, String> src = new HashMap<>();
    Map<Path, String> pkgs = new HashMap<>();
    Trees trees = Trees.instance(t);
    SourcePositions sp = trees.getSourcePositions();
    for (CompilationUnitTree u : t.parse()) {
      Path f = Path.of(u.getSourceFile().toUri());
      String text = u.getSourceFile().getCharContent(true).toString();
      src.put(f, text);
      String pkg = u.getPackageName() == null ? "" : u.getPackageName().toString();
      pkgs.put(f, pkg);
      for (Tree d : u.getTypeDecls()) if (d instanceof ClassTree ct) index(u, f, text, pkg.isEmpty() ? "" : pkg + ".", ct, false, sp, types, members, bySimple, true);
    }
    try { t.analyze(); } catch (Throwable e) { System.out.println("analyze: " + e); }
    Map<Path, TreeMap<Long, String>> inserts = new HashMap<>();
    Map<String, Integer> unknown = new TreeMap<>();
    Map<Path, TreeMap<Long, String>> fixLine = new HashMap<>();
    Set<String> seenMsg = new HashSet<>();
    int fixed = 0;
    List<String> samples = new ArrayList<>();
    for (var d : ds) {
      if (d.getSource() == null) continue;
      Path f = Path.of(d.getSource().toUri());
      String msg = d.getMessage(Locale.ROOT);
      String code = d.getCode();
      boolean ok = false;
      if (code.contains("not.def.public") || code.contains("report.access")) {
        Matcher m = Pattern.compile("(.+?) is not public in (\\S+?)(; cannot be accessed.*)?$|(.+?) has (?:private|protected) access in (\\S+)").matcher(msg.split("\n")[0]);
        if (m.find() && m.group(1) != null) ok = publish(f, m.group(1), m.group(2).replaceAll(";$", ""), pkgs, src, types, members, bySimple, inserts, report);
      } else if (code.contains("not.def.access.class.intf.cant.access") || msg.contains("is defined in an inaccessible class or interface")) {
        Matcher m = Pattern.compile("(\\S+?)(?:\\(.*?\\))? (?:in|is defined)").matcher(msg);
        // X.Y is defined in an inaccessible class: publish its outer types
        Matcher q = Pattern.compile("^([\\w.$]+)").matcher(msg);
        if (q.find()) { String n = q.group(1); for (String k : candidates(n, bySimple)) { String o = k; while (types.containsKey(o)) { ok |= insert(types.get(o), inserts, report); int i = o.lastIndexOf('.'); if (i < 0) break; o = o.substring(0, i); } } }
        if (!ok) { Matcher z = Pattern.compile("in ([\\w.$<>]+) is defined").matcher(msg); if (z.find()) for (String k : candidates(z.group(1).replaceAll("<.*", ""), bySimple)) { String o = k; while (types.containsKey(o)) { ok |= insert(types.get(o), inserts, report); int i = o.lastIndexOf('.'); if (i < 0) break; o = o.substring(0, i); } } }
      } else if ((code.contains("cant.resolve") || code.contains("doesnt.exist")) && Pattern.compile("symbol:\\s+static (\\w+)").matcher(msg).find()) {
        Matcher m = Pattern.compile("symbol:\\s+static (\\w+)\\s+location: (?:class|interface) ([\\w.$]+)").matcher(msg);
        if (m.find()) for (String k : candidates(m.group(2), bySimple)) { for (Decl x : members.getOrDefault(k, List.of())) if (x.name().equals(m.group(1))) ok |= insert(x, inserts, report); Decl ty = types.get(k + "." + m.group(1)); if (ty != null) ok |= insert(ty, inserts, report); if (types.containsKey(k)) ok |= insert(types.get(k), inserts, report); }
      } else if (code.contains("cant.resolve") || code.contains("doesnt.exist")) {
        Matcher m = Pattern.compile("symbol:\\s+(?:class|variable|interface|record|enum|static) (\\w+)").matcher(msg);
        if (m.find() || (m = Pattern.compile("package (\\w+) does not exist").matcher(msg)).find()) {
          String n = m.group(1);
          List<String> cs = bySimple.getOrDefault(n, List.of()).stream().filter(k -> types.get(k).kind().equals("top")).filter(k -> !k.substring(0, Math.max(0, k.lastIndexOf('.'))).equals(pkgs.get(f))).toList();
          if (cs.size() > 1) { String mod = root.relativize(f).getName(0).toString(); List<String> c2 = cs.stream().filter(k -> root.relativize(types.get(k).file()).getName(0).toString().equals(mod)).toList(); if (c2.size() == 1) cs = c2;
             else { List<String> c3 = (c2.isEmpty() ? cs : c2).stream().filter(k -> root.relativize(types.get(k).file()).toString().contains("/src/main/")).toList(); if (c3.size() == 1) cs = c3; } }
          if (cs.size() == 1) { addImport(f, cs.get(0), src, inserts); ok = true; }
        }
      } else if (code.contains("override.weaker.access") || code.contains("invalid.canonical.constructor") || msg.contains("weaker access privileges")) {
        String text = src.get(f); long p = d.getStartPosition();
        Decl best = null;
        for (var l : members.values()) for (Decl x : l) if (x.file().equals(f) && x.start() <= d.getPosition() && (best == null || x.start() > best.start())) best = x;
        if (best != null && !best.mods().contains(javax.lang.model.element.Modifier.PUBLIC)) ok = insert(best, inserts, report);
      } else if (code.contains("does.not.override.abstract")) {
        Matcher m = Pattern.compile("does not override abstract method (\\w+)\\((.*?)\\) in ([\\w.$]+)").matcher(msg);
        if (m.find()) { for (String k : candidates(m.group(3), bySimple)) for (Decl x : members.getOrDefault(k, List.of())) if (x.name().equals(m.group(1)) && !x.mods().contains(javax.lang.model.element.Modifier.PUBLIC)) ok |= insert(x, inserts, report); }
      }
      if (!ok && msg.contains("is defined in an inaccessible class")) {
        Matcher q = Pattern.compile("([a-z][\\w]*(?:\\.[\\w$]+)+)").matcher(msg);
        if (q.find()) { String o = q.group(1).replace('$', '.'); while (o.contains(".")) { if (types.containsKey(o)) ok |= insert(types.get(o), inserts, report); o = o.substring(0, o.lastIndexOf('.')); } }
      }
      if (!ok && code.contains("cant.resolve.location.args")) {
        Matcher q = Pattern.compile("symbol:\\s+method (\\w+)\\(").matcher(msg);
        String mod = root.relativize(f).getName(0).toString();
        if (q.find()) for (var l : members.values()) for (Decl x : l) if (x.name().equals(q.group(1)) && root.relativize(x.file()).getName(0).toString().equals(mod) && (x.file().toString().contains("IntrusiveList") || x.file().toString().contains("IndexedHeap") || mod.equals("sluice-cli") || x.file().toString().contains("Command"))) ok |= insert(x, inserts, report);
      }
      if (!ok) { // GENERIC
        Matcher g = Pattern.compile("([\\w.$]+(?:<[^()\\n]*?>)?(?:\\([^()\\n]*\\))?) is not public in ([\\w.$]+)").matcher(msg);
        while (g.find()) ok |= publish(f, g.group(1), g.group(2), pkgs, src, types, members, bySimple, inserts, report);
        if (!ok && code.contains("cant.type.annotate")) {
          String text = src.get(f); int ls = text.lastIndexOf('\n', (int) d.getPosition()) + 1; int le = text.indexOf('\n', (int) d.getPosition()); String line = text.substring(ls, le);
          fixLine.computeIfAbsent(f, k -> new TreeMap<>()).put(d.getLineNumber(), line.replaceAll("@Nullable ((?:\\w+\\.)+)(\\w+)", "$1@Nullable $2")); ok = true;
        }
      }
      if (ok) fixed++; else { unknown.merge(code, 1, Integer::sum); if (samples.size() < 70 && seenMsg.add(code + msg.replaceAll("\\d+", ""))) samples.add(root.relativize(f) + ":" + d.getLineNumber() + " " + msg.replace("\n", " | ")); }
    }
    int files2 = 0;
    for (var e : fixLine.entrySet()) if (!inserts.containsKey(e.getKey())) { String[] L = src.get(e.getKey()).split("\n", -1); e.getValue().forEach((n, v) -> L[(int) (n - 1)] = v); Files.writeString(e.getKey(), String.join("\n", L)); files2++; }
    for (var e : inserts.entrySet()) {
      StringBuilder b = new StringBuilder(src.get(e.getKey()));
      for (var i : e.getValue().descendingMap().entrySet()) b.insert(i.getKey().intValue(), i.getValue());
      Files.writeString(e.getKey(), b.toString()); files2++;
    }
    System.out.println("errors " + ds.size() + " handled " + fixed + " files changed " + files2 + " unknown " + unknown);
    samples.forEach(x -> System.out.println("   ? " + x));
    return files2 > 0;
  }
  static List<String> candidates(String n, Map<String, List<String>> bySimple) {
    String s = n.replace('$', '.'); String last = s.substring(s.lastIndexOf('.') + 1);
    List<String> l = bySimple.getOrDefault(last, List.of());
    List<String> ex = l.stream().filter(k -> k.equals(s) || k.endsWith("." + s)).toList();
    return ex.isEmpty() ? (l.size() == 1 ? l : List.of()) : ex;
  }
  static boolean publish(Path f, String what, String where, Map<Path, String> pkgs, Map<Path, String> src, Map<String, Decl> types, Map<String, List<Decl>> members, Map<String, List<String>> bySimple, Map<Path, TreeMap<Long, String>> inserts, Set<String> report) {
    String w = what.replaceAll("<[^()]*>", "").trim();
    String cls = where.replaceAll("<.*", "").replace('$', '.');
    if (!w.contains("(")) {
      for (String k : List.of(w, cls + "." + w)) if (types.containsKey(k)) return insert(types.get(k), inserts, report);
      for (String c : candidates(cls, bySimple)) if (types.containsKey(c + "." + w)) return insert(types.get(c + "." + w), inserts, report);
    }
    boolean ok = false;
    String name = w.contains("(") ? w.substring(0, w.indexOf('(')) : w;
    name = name.substring(name.lastIndexOf('.') + 1).replaceAll(".*>", "");
    int n = -1;
    if (w.contains("(")) { String args = w.substring(w.indexOf('(') + 1, w.lastIndexOf(')')); n = args.isBlank() ? 0 : args.split(",").length; }
    List<String> cs = types.containsKey(cls) ? List.of(cls) : candidates(cls, bySimple);
    for (String c : cs) {
      String simple = c.substring(c.lastIndexOf('.') + 1);
      boolean ctor = name.equals(simple) && n >= 0;
      for (Decl d : members.getOrDefault(c, List.of())) {
        if ((ctor ? d.name().equals("<init>") : d.name().equals(name)) && (n < 0 ? d.params() < 0 : d.params() >= 0) && (n < 0 || d.params() == n || d.text().contains("...") || w.contains("<") || what.contains("<")))
          ok |= insert(d, inserts, report);
      }
      if (!ok) for (Decl d : members.getOrDefault(c, List.of())) if (d.name().equals(ctor ? "<init>" : name)) ok |= insert(d, inserts, report);
    }
    return ok;
  }
  static boolean insert(Decl d, Map<Path, TreeMap<Long, String>> inserts, Set<String> report) {
    if (d.mods().contains(javax.lang.model.element.Modifier.PUBLIC) || d.ifaceMember()) return false;
    if (d.mods().contains(javax.lang.model.element.Modifier.PRIVATE) || d.mods().contains(javax.lang.model.element.Modifier.PROTECTED)) return false;
    inserts.computeIfAbsent(d.file(), k -> new TreeMap<>()).put(d.start(), "public ");
    report.add(d.cls() + " " + d.name());
    return true;
  }
  static void addImport(Path f, String fqn, Map<Path, String> src, Map<Path, TreeMap<Long, String>> inserts) {
    String s = src.get(f); Matcher m = Pattern.compile("(?m)^package [\\w.]+;\n").matcher(s); if (!m.find()) return;
    inserts.computeIfAbsent(f, k -> new TreeMap<>()).merge((long) m.end(), "\nimport " + fqn + ";", (x, y) -> x.contains(y) ? x : x + y);
  }
  static long insertionPoint(CompilationUnitTree u, String text, Tree decl, ModifiersTree mods, SourcePositions sp) {
    long start = sp.getStartPosition(u, decl);
    long p = start;
    for (AnnotationTree an : mods.getAnnotations()) {
      long e = sp.getEndPosition(u, an);
      int i = (int) e; while (i < text.length() && (text.charAt(i) == ' ')) i++;
      if (i < text.length() && text.charAt(i) == '\n') { while (i < text.length() && Character.isWhitespace(text.charAt(i))) i++; p = Math.max(p, i); }
      else if (an.getAnnotationType().toString().equals("Override")) { p = Math.max(p, i); }
    }
    return p;
  }
  static void index(CompilationUnitTree u, Path f, String text, String prefix, ClassTree ct, boolean inIface, SourcePositions sp, Map<String, Decl> types, Map<String, List<Decl>> members, Map<String, List<String>> bySimple, boolean top) {
    String fqn = prefix + ct.getSimpleName();
    types.put(fqn, new Decl(f, insertionPoint(u, text, ct, ct.getModifiers(), sp), top ? "top" : "nested", fqn, "", -2, inIface, ct.getModifiers().getFlags(), ""));
    bySimple.computeIfAbsent(ct.getSimpleName().toString(), k -> new ArrayList<>()).add(fqn);
    boolean iface = ct.getKind() == Tree.Kind.INTERFACE || ct.getKind() == Tree.Kind.ANNOTATION_TYPE;
    for (Tree m : ct.getMembers()) {
      if (sp.getStartPosition(u, m) < 0 || sp.getEndPosition(u, m) < 0) continue;
      if (m instanceof ClassTree n) index(u, f, text, fqn + ".", n, iface, sp, types, members, bySimple, false);
      else if (m instanceof MethodTree mt) {
        if (ct.getKind() == Tree.Kind.ENUM && mt.getReturnType() == null) continue;
        String sig = text.substring((int) sp.getStartPosition(u, m), (int) Math.min(sp.getEndPosition(u, m), sp.getStartPosition(u, m) + 400));
        if (mt.getReturnType() == null && !sig.replaceAll("(?s)/\\*.*?\\*/", "").contains(ct.getSimpleName())) continue; // implicit
        members.computeIfAbsent(fqn, k -> new ArrayList<>()).add(new Decl(f, insertionPoint(u, text, mt, mt.getModifiers(), sp), "method", fqn, mt.getReturnType() == null ? "<init>" : mt.getName().toString(), mt.getParameters().size(), iface, mt.getModifiers().getFlags(), mt.getParameters().toString()));
      } else if (m instanceof VariableTree v) {
        if (ct.getKind() == Tree.Kind.RECORD && !v.getModifiers().getFlags().contains(javax.lang.model.element.Modifier.STATIC)) continue;
        if (v.getType() == null || ct.getKind() == Tree.Kind.ENUM && text.charAt((int) sp.getStartPosition(u, v)) == v.getName().charAt(0) && text.startsWith(v.getName().toString(), (int) sp.getStartPosition(u, v))) continue;
        members.computeIfAbsent(fqn, k -> new ArrayList<>()).add(new Decl(f, insertionPoint(u, text, v, v.getModifiers(), sp), "field", fqn, v.getName().toString(), -1, iface, v.getModifiers().getFlags(), ""));
      }
    }
  }
}
