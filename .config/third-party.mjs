// Writes a file with the licences of the bundled packages, because users of the package get no other copy of them.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const folderOf = (file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0];

/** Writes the name, version and licence of each package that the modules `bundled` belong to. Throws for a package without a licence. */
export function writeThirdParty(path, bundled) {
  const texts = new Map();
  for (const folder of new Set(bundled.flatMap((module) => folderOf(module) ?? []))) {
    const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
    const files = readdirSync(folder).filter((file) => /^(?:licen[cs]e|copying|notice)(?:[.-](?:md|txt|mit|markdown))?$/i.test(file));
    if (files.length === 0 && license === undefined) throw new Error(`${name} ${version} has no licence`);
    const all = files.sort().map((file) => readFileSync(`${folder}/${file}`, 'utf8').trim());
    texts.set(`${name} ${version}`, [`${name} ${version}`, `Licence: ${license}`, ...all].join('\n\n'));
  }
  const intro = 'The files in this folder contain these packages. Thank you to their authors.';
  const sorted = [...texts].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, text]) => text);
  writeFileSync(path, `${[intro, ...sorted].join(`\n\n${'-'.repeat(80)}\n\n`)}\n`);
}
