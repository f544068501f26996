// Python itself, in a worker: the commands of Limen, one question after another. It reads its own site alone.
import { loadPyodide } from "./python/pyodide.mjs";

const home = new URL("python/", import.meta.url).href;
const fetched = async (name) => {
  const got = await fetch(home + name);
  if (!got.ok) throw new Error(`${name}: ${got.status} ${got.statusText}`);
  return got;
};

async function begin() {
  const names = await (await fetched("packages.json")).json();
  const archives = names.map(async (name) => new Uint8Array(await (await fetched(name)).arrayBuffer()));
  const python = await loadPyodide({ indexURL: home });
  const extractDir = python.runPython("import sysconfig; sysconfig.get_path('purelib')");
  for (const archive of archives) python.unpackArchive(await archive, "zip", { extractDir });
  python.runPython("import importlib; importlib.invalidate_caches()");
  return python.pyimport("limen.commands._page").called;
}

const called = begin();
called.then(
  () => postMessage({ ready: true }),
  (error) => postMessage({ failed: String(error.message ?? error) }),
);
onmessage = async ({ data: { id, name, text } }) => postMessage({ id, text: (await called)(name, text) });
