import { relative } from 'node:path';
import { type Page, proseOf } from './pages.ts';

const introduction = `# automate

> Runs a flow, which is a YAML file, over every record of a CSV, JSON or Excel file: sends an HTTP request, calls a tool or asks a language model for each, and writes the file with the answers added.

If you are an agent, begin with \`automate skill\`. It explains each step of the way from a job to a finished file, and the keys and options that are used most:`;

/** A page that is in none of the sections is in the last one. */
const sections: Readonly<Record<string, readonly string[]>> = {
  Start: [
    'README.md',
    'docs/getting-started.md',
    'docs/recipes.md',
    'docs/coming-from.md',
    'docs/how-long.md',
    'docs/limits.md',
    'docs/agents.md',
  ],
  Flows: ['flow-reference', 'mapping-and-templates', 'expressions', 'variables', 'connections', 'credentials', 'testing'].map(inDocs),
  Runs: ['files', 'errors-and-retries', 'credits', 'updates', 'guarantees', 'running-unattended', 'performance', 'workers'].map(inDocs),
  'What a node can do': ['xml-and-csv', 'uploads-and-downloads', 'llm', 'mcp', 'lookups', 'places', 'geocode', 'census'].map(inDocs),
  Servers: ['serving', 'http-api', 'keys', 'dashboard'].map(inDocs),
};

function inDocs(name: string): string {
  return `docs/${name}.md`;
}

/** Returns the content of docs/llms.txt, in the format of llmstxt.org. CONTRIBUTING.md is not in the package. */
export function llmsList(pages: readonly Page[], skill: string): string {
  const way = [...skill.matchAll(/^\d+\. .*?`automate .*?`/gm)].map(([step]) => step).join('\n');
  const listed = Object.values(sections).flat();
  const others = pages.map(({ path }) => path).filter((path) => path !== 'CONTRIBUTING.md' && !listed.includes(path));
  const all = Object.entries({ ...sections, ...(others.length > 0 && { 'More pages': others }) });
  return `${[introduction, way, 'The links are relative to this file.', ...all.map(([title, paths]) => `## ${title}\n\n${paths.map((path) => line(path, pages)).join('\n')}`)].join('\n\n')}\n`;
}

/** A page's title, the first sentence of its text, and its headings. */
function line(path: string, pages: readonly Page[]): string {
  const page = pages.find((one) => one.path === path);
  if (!page) throw new Error(`${path} is listed in test/docs/llms-list.ts, but is not a page`);
  const prose = proseOf(page);
  const [, title = '', first = ''] = /^# (.*)\n+(.*?(?:\.(?= |$)|:$))/m.exec(prose) ?? [];
  const headings = [...prose.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
  const parts = headings.length === 0 ? '' : ` Parts: ${headings.join(' | ')}`;
  return `- [${title}](${relative('docs', path)}): ${plain(first).replace(/:$/, '.')}${parts}`;
}

function plain(text: string): string {
  return text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
}
