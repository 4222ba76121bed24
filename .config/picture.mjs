// Runs an example against the API of the demo, and draws what the terminal shows: npm run picture -- [FILE]
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const program = join(root, 'bin/automate.js');
const commands = [
  'automate run flow.yaml --in codes.csv --out positions.csv',
  'head -3 positions.csv',
  'automate retry positions.csv --quiet',
];

const lineHeight = 19;
/** The width of a character at 13 px in the usual fixed-width fonts. */
const charWidth = 7.9;
const margin = 18;

/** Classes of the style sheet, by the parameter of the escape sequence that begins them. */
const classes = { 1: 'bold', 2: 'dim', 31: 'red', 32: 'green', 33: 'yellow', 36: 'cyan' };

writeFileSync(process.argv[2] ?? join(root, 'docs/images/run.svg'), picture(await record()));

/** Returns the lines of the terminal, with their escape sequences. */
async function record() {
  const folder = mkdtempSync(join(tmpdir(), 'automate-picture-'));
  const env = { PATH: process.env.PATH, AUTOMATE_HOME: join(folder, 'home'), FORCE_COLOR: '1' };
  const api = spawn(process.execPath, [program, 'demo', '--serve', '--port', '0'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [started] = await once(api.stdout, 'data');
    const [origin] = /http:[^;]+/.exec(started);
    cpSync(join(root, 'examples/retry'), folder, { recursive: true });
    const flow = join(folder, 'flow.yaml');
    writeFileSync(flow, readFileSync(flow, 'utf8').replace(/http:\/\/127\.0\.0\.1:\d+/, origin));
    return commands.flatMap((command) => {
      const script = `automate() { '${process.execPath}' '${program}' "$@"; }\n{ ${command}; } 2>&1`;
      const { stdout } = spawnSync('bash', ['-c', script], { cwd: folder, env, encoding: 'utf8' });
      return [`\u001b[32m$\u001b[39m \u001b[1m${command}\u001b[22m`, ...stdout.trimEnd().split('\n'), ''];
    });
  } finally {
    api.kill();
    rmSync(folder, { recursive: true });
  }
}

function picture(lines) {
  const columns = Math.max(...lines.map((line) => stripVTControlCharacters(line).length));
  const [width, height] = [Math.ceil(columns * charWidth) + 2 * margin, (lines.length - 1) * lineHeight + 2 * margin];
  const texts = lines.flatMap((line, index) =>
    line ? [`<text x="${margin}" y="${margin + 13 + index * lineHeight}">${spans(line)}</text>`] : [],
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
<title>A run in a terminal: ${commands.join(', ')}</title>
<style>
svg { --back: #ffffff; --text: #1f2328; --dim: #59636e; --red: #b3261e; --green: #116329; --yellow: #7d4e00; --cyan: #0b5c71; --line: #d1d9e0 }
@media (prefers-color-scheme: dark) {
  svg { --back: #0d1117; --text: #e6edf3; --dim: #9198a1; --red: #ff7b72; --green: #3fb950; --yellow: #d29922; --cyan: #39c5cf; --line: #3d444d }
}
rect { fill: var(--back); stroke: var(--line) }
text { fill: var(--text); font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }
.bold { font-weight: bold } .dim { fill: var(--dim) } .red { fill: var(--red) } .green { fill: var(--green) }
.yellow { fill: var(--yellow) } .cyan { fill: var(--cyan) }
</style>
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>
${texts.join('\n')}
</svg>
`;
}

/** Converts the escape sequences of a line. The program never nests them. */
function spans(line) {
  const [first, ...parts] = line.replaceAll('&', '&amp;').replaceAll('<', '&lt;').split('\u001b[');
  return parts.reduce((made, part) => {
    const [, code, text] = /^(\d+)m(.*)$/.exec(part);
    return `${made}${classes[code] ? `<tspan class="${classes[code]}">` : '</tspan>'}${text}`;
  }, first);
}
