// What is on the page stays there: a pointer, a focus or a selection is on it. Elements are changed in place, and none is made anew
// because something else has changed.

const keyOf = (n) => n.dataset?.key;

// fill gives a parent these children. One with the data-key of a child that is there, or else the next of the same kind, only says how
// that child is to look from now on. Children of a parent with data-own are its script's.
export function fill(parent, ...children) {
  const fresh = children.flat(Infinity).filter((c) => c !== undefined && c !== null && c !== false).map((c) => c instanceof Node ? c : document.createTextNode(String(c)));
  const stay = new Set(fresh), keyed = new Map(), plain = [];
  for (const c of parent.childNodes) {
    if (stay.has(c)) continue;
    if (keyOf(c) === undefined) plain.push(c);
    else keyed.set(keyOf(c), c);
  }
  let next = 0;
  place(parent, fresh.map((f) => {
    if (f.parentNode === parent) return f;
    let old = keyed.get(keyOf(f));
    if (keyOf(f) === undefined) {
      const at = plain.findIndex((c, i) => i >= next && c.nodeName === f.nodeName);
      if (at >= 0) { old = plain[at]; next = at + 1; }
    } else keyed.delete(keyOf(f));
    if (old?.nodeName !== f.nodeName) return f;
    change(old, f);
    return old;
  }));
}

// place makes these nodes, and no others, the children of a parent, in this order. Those that are in order are not touched.
export function place(parent, nodes) {
  const stay = new Set(nodes);
  for (const c of [...parent.childNodes]) if (!stay.has(c)) c.remove();
  const move = (n, before) => parent.moveBefore && n.parentNode === parent && parent.isConnected ? parent.moveBefore(n, before) : parent.insertBefore(n, before);
  let at = parent.firstChild;
  for (const n of nodes) {
    if (at && at !== n && at.nextSibling === n) move(at, null); // it has gone down, the others have not moved
    else if (at !== n) { move(n, at); continue; }
    at = n.nextSibling;
  }
}

// change makes an element look like another. What somebody has opened stays open, and what they have typed stays typed.
export function change(old, fresh) {
  if (!(old instanceof Element)) { write(old, fresh.data); return; }
  for (const name of fresh.hears ?? []) old[name] = fresh[name];
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  if (!("own" in old.dataset)) fill(old, [...fresh.childNodes]);
}

// write sets the text of a node, or of an element's only one, and leaves the part that is the same, with a selection in it.
export function write(node, text) {
  if (node instanceof Element) {
    if (node.childNodes.length !== 1 || !(node.firstChild instanceof Text)) { node.textContent = text; return; }
    node = node.firstChild;
  }
  const was = node.data, most = Math.min(was.length, text.length);
  if (was === text) return;
  let head = 0, tail = 0;
  while (head < most && was[head] === text[head]) head++;
  while (tail < most - head && was[was.length - 1 - tail] === text[text.length - 1 - tail]) tail++;
  node.replaceData(head, was.length - head - tail, text.slice(head, text.length - tail));
}

// While a button of a pointer is down nothing moves below it: still draws at once, or when it is up again. Of several drawings of one name
// the last is made.
const late = new Map();
let down = 0;

export function still(name, draw) {
  if (down) late.set(name, draw);
  else draw();
}

function release() {
  clearTimeout(down);
  down = 0;
  const draws = [...late.values()];
  late.clear();
  for (const draw of draws) draw();
}
addEventListener("pointerdown", () => { clearTimeout(down); down = setTimeout(release, 5000); }, true); // an end outside of the window may never be told
for (const end of ["pointerup", "pointercancel", "blur"]) addEventListener(end, () => { if (down) setTimeout(release); }, true);
