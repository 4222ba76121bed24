import { percentDecoded } from '../../core/template/url.ts';
import { escapedControls } from '../../core/text/quoted-word.ts';
import { holdsToken, looksRandom } from '../../core/text/secret-shapes.ts';
import { type KnownSecrets, pathWithFields } from '../../starter/known-secrets.ts';

const maxUrl = 200;

/** Returns the URL of a request in a file of another tool, with its secrets masked. */
export function shownUrl(url: string, secrets: KnownSecrets): string {
  const [address = '', query] = url.replace(/^(\w+:\/\/)[^/?#@]*@/, '$1').split(/\?(.*)/s);
  const isSecret = (name: string, value: string) => secrets.rule(name, 'query', value, true) || holdsToken(value) || looksRandom(value);
  const path = address.replace(/;([\w.-]+)=([^/;#]*)/g, (found, name, value) => (isSecret(name, value) ? `;${name}=***` : found));
  const { text } = pathWithFields(path, secrets, () => '***');
  const pairs = query?.split('&').map((pair) => {
    const [name = '', value = ''] = pair.split(/=(.*)/s).map(percentDecoded);
    return isSecret(name, value) ? `${pair.split('=')[0]}=***` : pair;
  });
  const shown = escapedControls(text + (pairs ? `?${pairs.join('&')}` : ''));
  return shown.length > maxUrl ? `${shown.slice(0, maxUrl).toWellFormed()}…` : shown;
}
