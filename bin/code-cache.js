// Node 20 has no compile cache. This keeps the code that V8 makes of the program's files, as node:module does from Node 22 on.
const { mkdirSync, readFileSync, writeFileSync } = require('node:fs');
const { createRequire, wrap } = require('node:module');
const { join } = require('node:path');
const { cachedDataVersionTag } = require('node:v8');
const { Script } = require('node:vm');
const { crc32 } = require('node:zlib');

const program = join(__dirname, '../dist/');

/** Code of a process that has run for longer lacks what V8 has dropped since the start. */
const maxSeconds = 10;

/**
 * Loads the program with the code that an earlier process has put into `cache`. The tag stands for the version and the flags of V8. Versions
 * of Node have the same version of V8 with different patches, and crash on each other's code.
 */
exports.loadCached = (cache) => {
  const folder = `${cache}/${process.version}-${process.arch}-${cachedDataVersionTag()}`;
  const requireOther = createRequire(program);
  const modules = new Map();
  const compiled = [];

  function requireBeside(path) {
    if (!/^\.\/[^/]+\.cjs$/.test(path)) return requireOther(path);
    const name = path.slice(2);
    if (!modules.has(name)) run(name);
    return modules.get(name).exports;
  }

  function run(name) {
    const [filename, module] = [program + name, { exports: {} }];
    modules.set(name, module);
    const source = readFileSync(filename);
    const file = `${folder}/${name}`;
    const script = new Script(wrap(source.toString()), { filename, cachedData: storedCode(file, source) });
    if (script.cachedDataRejected !== false) compiled.push({ file, source, script });
    script.runInThisContext()(module.exports, requireBeside, module, filename, program);
  }

  process.once('exit', () => {
    if (compiled.length === 0 || process.uptime() > maxSeconds) return;
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      for (const one of compiled) storeCode(one);
    } catch {}
  });
  return requireBeside('./main.cjs');
};

/**
 * Returns the code that was made of `source`, or undefined. V8 compares only the length of the source, and no checksum. The file can also be
 * half written, by another process now, or because a disk was full.
 */
function storedCode(file, source) {
  try {
    const stored = readFileSync(file);
    const code = stored.subarray(0, -4);
    return stored.readUInt32LE(code.length) === checksum(source, code) ? code : undefined;
  } catch {
    return undefined;
  }
}

function storeCode({ file, source, script }) {
  const code = script.createCachedData();
  const sum = Buffer.alloc(4);
  sum.writeUInt32LE(checksum(source, code));
  writeFileSync(file, Buffer.concat([code, sum]), { mode: 0o600 });
}

function checksum(source, code) {
  return crc32(code, crc32(source));
}
