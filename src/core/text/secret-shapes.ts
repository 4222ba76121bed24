import { bytesOfBase64 } from './base64.ts';

/** A name can show that its value is a secret. */
export type NamedPlace = 'header' | 'query' | 'body';

interface TokenShape {
  readonly begins: string;
  /** Pattern of the characters after `begins`. If undefined, `[\w.-]{8,}` is used, because `begins` already excludes ordinary words. */
  readonly rest?: string;
  readonly of: string;
}

/** A name that shows that its value is a secret. `*` stands for any characters. */
export interface SecretName {
  readonly named: string;
  readonly in: readonly NamedPlace[];
  /**
   * Set if a value with this name might also be harmless. The value then counts as a secret only if it is a word with digits (`likely`), a
   * long generated string (`random`), or a generated word that does not look like a page cursor (`generated`).
   */
  readonly if?: 'likely' | 'random' | 'generated';
}

/** An API key of `automate serve`. */
export const apiKey = { begins: 'amk_', rest: '[0-9A-Za-z]{49}', of: 'automate, API key of a server' };

/**
 * The known kinds of secrets. Tokens are recognized by their first characters. Other values are recognized by the name of their header,
 * query parameter or body member. Tokens are case-sensitive. Names are compared without case, `-`, `_` and a leading `x-`.
 */
export const secretShapes: readonly (TokenShape | SecretName)[] = [
  apiKey,
  { begins: 'sk_live_', of: 'Stripe, secret key' },
  { begins: 'sk_test_', of: 'Stripe, secret key' },
  { begins: 'rk_live_', of: 'Stripe, restricted key' },
  { begins: 'rk_test_', of: 'Stripe, restricted key' },
  { begins: 'whsec_', rest: '[A-Za-z0-9+/]{24,}', of: 'Stripe, webhook' },
  { begins: 'sq0atp-', rest: '[\\w-]{22,}', of: 'Square, access token' },
  { begins: 'sq0csp-', rest: '[\\w-]{22,}', of: 'Square, application secret' },
  { begins: 'shpat_', rest: '[0-9a-fA-F]{32}', of: 'Shopify, access token' },
  { begins: 'shpca_', rest: '[0-9a-fA-F]{32}', of: 'Shopify, custom app' },
  { begins: 'shppa_', rest: '[0-9a-fA-F]{32}', of: 'Shopify, private app' },
  { begins: 'shpss_', rest: '[0-9a-fA-F]{32}', of: 'Shopify, shared secret' },

  { begins: 'sk-', of: 'OpenAI, Anthropic (sk-ant-) and others' },
  { begins: 'gsk_', rest: '[A-Za-z0-9]{40,}', of: 'Groq' },
  { begins: 'xai-', rest: '[A-Za-z0-9]{40,}', of: 'xAI' },
  { begins: 'pplx-', rest: '[A-Za-z0-9]{40,}', of: 'Perplexity' },
  { begins: 'r8_', rest: '[A-Za-z0-9]{32,}', of: 'Replicate' },
  { begins: 'hf_', rest: '[A-Za-z0-9]{32,}', of: 'Hugging Face' },

  { begins: 'ghp_', of: 'GitHub, personal access token' },
  { begins: 'gho_', of: 'GitHub, OAuth' },
  { begins: 'ghu_', of: 'GitHub, app for a user' },
  { begins: 'ghs_', of: 'GitHub, app for a server' },
  { begins: 'ghr_', of: 'GitHub, refresh token' },
  { begins: 'github_pat_', of: 'GitHub, fine-grained token' },
  { begins: 'glpat-', of: 'GitLab, personal access token' },
  { begins: 'gldt-', rest: '[\\w.-]{20,}', of: 'GitLab, deploy token' },
  { begins: 'glrt-', rest: '[\\w.-]{20,}', of: 'GitLab, runner' },
  { begins: 'glptt-', rest: '[0-9a-f]{40}', of: 'GitLab, pipeline trigger' },
  { begins: 'gloas-', rest: '[0-9a-f]{64}', of: 'GitLab, OAuth application' },
  { begins: 'ATATT3', rest: '[\\w=-]{40,}', of: 'Atlassian' },
  { begins: 'npm_', rest: '[A-Za-z0-9]{36}', of: 'npm' },
  { begins: 'pypi-', rest: '[\\w-]{50,}', of: 'PyPI' },
  { begins: 'rubygems_', rest: '[0-9a-f]{48}', of: 'RubyGems' },
  { begins: 'dckr_pat_', rest: '[\\w-]{20,}', of: 'Docker Hub' },

  { begins: 'xoxa-', of: 'Slack, app' },
  { begins: 'xoxb-', of: 'Slack, bot' },
  { begins: 'xoxc-', of: 'Slack, browser' },
  { begins: 'xoxd-', of: 'Slack, browser' },
  { begins: 'xoxe-', of: 'Slack, refresh token' },
  { begins: 'xoxp-', of: 'Slack, user' },
  { begins: 'xoxr-', of: 'Slack, refresh token' },
  { begins: 'xoxs-', of: 'Slack, session' },
  { begins: 'hooks.slack.com/services/', rest: 'T\\w{6,}/B\\w{6,}/\\w{16,}', of: 'Slack, incoming webhook' },
  { begins: 'xapp-', rest: '\\d-[A-Z0-9]{8,}', of: 'Slack, app level' },
  { begins: 'discord.com/api/', rest: '(?:v\\d+/)?webhooks/\\d{15,}/[\\w-]{40,}', of: 'Discord, webhook' },
  { begins: 'discordapp.com/api/', rest: '(?:v\\d+/)?webhooks/\\d{15,}/[\\w-]{40,}', of: 'Discord, webhook' },
  { begins: 'bot', rest: '\\d{6,12}:[\\w-]{30,}', of: 'Telegram, in a path' },
  { begins: 'SG.', of: 'SendGrid' },
  { begins: 'xkeysib-', rest: '[0-9a-f]{64}', of: 'Brevo' },

  { begins: 'AKIA', of: 'AWS, access key' },
  { begins: 'ASIA', rest: '(?=[A-Z]*\\d)[A-Z0-9]{16}', of: 'AWS, temporary access key' },
  { begins: 'AIza', of: 'Google, API key' },
  { begins: 'ya29.', rest: '[\\w-]{20,}', of: 'Google, OAuth' },
  { begins: 'GOCSPX-', rest: '[\\w-]{20,}', of: 'Google, client secret' },
  { begins: 'dop_v1_', rest: '[0-9a-f]{64}', of: 'DigitalOcean, personal access token' },
  { begins: 'doo_v1_', rest: '[0-9a-f]{64}', of: 'DigitalOcean, OAuth' },
  { begins: 'dor_v1_', rest: '[0-9a-f]{64}', of: 'DigitalOcean, refresh token' },
  { begins: 'dapi', rest: '[0-9a-f]{32}', of: 'Databricks' },
  { begins: 'hvs.', rest: '[\\w-]{24,}', of: 'HashiCorp Vault' },
  { begins: 'dp.pt.', rest: '[A-Za-z0-9]{40,}', of: 'Doppler' },
  { begins: 'sbp_', rest: '[0-9a-f]{40}', of: 'Supabase' },
  { begins: 'glsa_', rest: '[A-Za-z0-9]{32}_', of: 'Grafana' },
  { begins: 'NRAK-', rest: '[A-Z0-9]{27}', of: 'New Relic' },
  { begins: 'sntryu_', rest: '[0-9a-f]{64}', of: 'Sentry' },

  { begins: 'lin_api_', rest: '[A-Za-z0-9]{32,}', of: 'Linear' },
  { begins: 'ntn_', rest: '[A-Za-z0-9]{40,}', of: 'Notion' },
  { begins: 'pat', rest: '[A-Za-z0-9]{14}\\.[0-9a-f]{64}', of: 'Airtable' },
  { begins: 'pat-', rest: '[a-z]{2}\\d-[0-9a-f]{8}-', of: 'HubSpot' },
  { begins: 'figd_', rest: '[\\w-]{30,}', of: 'Figma' },
  { begins: 'PMAK-', rest: '[0-9a-f]{24}-', of: 'Postman' },
  { begins: 'eyJ', rest: '[\\w-]{10,}\\.[\\w.-]{8,}', of: 'JSON Web Token' },

  { named: 'authorization', in: ['header', 'query', 'body'] },
  { named: 'proxy-authorization', in: ['header', 'body'] },
  { named: 'api-key', in: ['header', 'query', 'body'] },
  { named: 'api-token', in: ['header', 'query', 'body'] },
  { named: 'api-secret', in: ['header', 'query', 'body'] },
  { named: 'auth-key', in: ['header', 'query', 'body'] },
  { named: 'auth-token', in: ['header', 'query', 'body'] },
  { named: 'access-key', in: ['header', 'query', 'body'] },
  { named: 'access-token', in: ['header', 'query', 'body'] },
  { named: 'secret-key', in: ['header', 'query', 'body'] },
  { named: 'secret-token', in: ['header', 'query', 'body'] },
  { named: 'secret-access-key', in: ['header', 'query', 'body'] },
  { named: 'aws-secret-access-key', in: ['header', 'query', 'body'] },
  { named: 'private-key', in: ['header', 'query', 'body'] },
  { named: 'private-token', in: ['header', 'query', 'body'] },
  { named: 'refresh-key', in: ['header', 'body'] },
  { named: 'refresh-token', in: ['header', 'query', 'body'] },
  { named: 'vault-key', in: ['header', 'body'] },
  { named: 'vault-token', in: ['header', 'body'] },
  { named: 'subscription-key', in: ['header', 'query', 'body'] },
  { named: 'subscription-token', in: ['header', 'body'] },
  { named: 'bearer-token', in: ['header', 'query', 'body'] },
  { named: 'oauth-token', in: ['header', 'query', 'body'] },
  { named: 'token', in: ['header', 'query'] },
  { named: 'x-token', in: ['header', 'query', 'body'] },
  { named: 'client-secret', in: ['header', 'query', 'body'] },
  { named: 'app-secret', in: ['header', 'query', 'body'] },
  { named: 'consumer-secret', in: ['header', 'query', 'body'] },
  { named: 'secret', in: ['header', 'query', 'body'] },
  { named: 'password', in: ['header', 'query', 'body'] },
  { named: 'passwd', in: ['header', 'query', 'body'] },
  { named: 'pwd', in: ['header', 'query', 'body'] },
  { named: 'passphrase', in: ['header', 'query', 'body'] },

  { named: 'x-rapidapi-key', in: ['header', 'query', 'body'] },
  { named: 'ocp-apim-subscription-key', in: ['header', 'body'] },
  { named: 'x-functions-key', in: ['header'] },
  { named: 'x-goog-api-key', in: ['header'] },
  { named: 'x-amz-security-token', in: ['header', 'query'] },
  { named: 'x-shopify-access-token', in: ['header'] },
  { named: 'x-figma-token', in: ['header'] },
  { named: 'x-postmark-server-token', in: ['header'] },
  { named: 'x-postmark-account-token', in: ['header'] },
  { named: 'x-redmine-api-key', in: ['header'] },
  { named: 'x-cisco-meraki-api-key', in: ['header'] },
  { named: 'xi-api-key', in: ['header'] },
  { named: 'dd-api-key', in: ['header'] },
  { named: 'dd-application-key', in: ['header'] },
  { named: 'fastly-key', in: ['header'] },
  { named: 'job-token', in: ['header', 'query'] },
  { named: 'deploy-token', in: ['header'] },
  { named: 'hapikey', in: ['query'] },

  // In a body, `token` might be the token of the next page, so only generated words count. In a query, `key` might be a search term.
  { named: 'token', in: ['body'], if: 'generated' },
  { named: 'key', in: ['query'], if: 'generated' },
  { named: 'appid', in: ['query'], if: 'generated' },

  { named: 'auth', in: ['header', 'query', 'body'], if: 'likely' },
  { named: 'pass', in: ['query', 'body'], if: 'likely' },
  { named: 'sig', in: ['query', 'body'], if: 'likely' },
  { named: 'signature', in: ['query', 'body'], if: 'likely' },
  { named: '*-key', in: ['header'], if: 'random' },
  { named: '*-token', in: ['header'], if: 'random' },
  { named: '*-password', in: ['header'], if: 'random' },
  { named: '*secret*', in: ['header'] },
];

/** The pattern of a private key with all of its lines (RFC 7468). It does not match if a reference such as `{{key}}` replaces the lines. */
const privateKey = '-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----(?!(?:\\s|\\\\[nr])*\\{\\{)(?:[^]*?-----END [A-Z0-9 ]+-----|[^]*)';

const knownTokens = new RegExp(`\\b(?:${tokenPatterns().join('|')})[\\w.-]*|${privateKey}`, 'g');

function tokenPatterns(): string[] {
  return secretShapes.flatMap((shape) => ('begins' in shape ? [shape.begins.replaceAll('.', '\\.') + (shape.rest ?? '[\\w.-]{8,}')] : []));
}

export function holdsToken(text: string): boolean {
  return text.search(knownTokens) >= 0;
}

/** Returns the first secret token or private key in the text; undefined if there is none. */
export function tokenIn(text: string): string | undefined {
  return text.match(knownTokens)?.[0];
}

/** Returns the text with every secret token and private key replaced by the result of `hide`. */
export function withoutTokens(text: string, hide: (token: string) => string): string {
  return text.replace(knownTokens, hide);
}

/** Decides by the text alone, for example where a name is expected. */
export function looksSecret(text: string): boolean {
  return holdsToken(text) || isRandomText(text);
}

/** True if the text is long and mixes several kinds of characters. */
export function isRandomText(text: string): boolean {
  if (/^[0-9a-f]{32,}$/i.test(text)) return true;
  return /^[\w.~+/=-]{24,}$/.test(text) && [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(text)) && digitChanges(text) > 3;
}

/** True if the text is one word that looks generated. Base64 of plain text does not count, because page cursors look like that. */
export function isGeneratedWord(text: string, shortest = 16): boolean {
  if (/^(?=.*\d)(?=.*[a-f])[\da-f]{32,}$/i.test(text)) return true;
  if (text.length < shortest || !/^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[\w~+/=-]+$/.test(text) || isEncodedText(text)) return false;
  const digits = digitTurns(text);
  return digits > 3 && digits + caseTurns(text) >= 0.4 * (text.length - 1);
}

/** True if a word of at least 16 characters often changes between letters and digits, or upper and lower case. UUIDs count, too. */
export function looksRandom(word: string): boolean {
  if (word.length < 16 || !/^[\w~+/=-]+$/.test(word) || new Set(word.toLowerCase()).size < 8) return false;
  const digits = digitTurns(word);
  const cases = caseTurns(word);
  return digits >= 4 || (digits >= 2 && digits + cases >= 0.25 * word.length) || cases >= 0.4 * word.length;
}

function digitTurns(text: string): number {
  return text.match(/\d(?=[A-Za-z])|[A-Za-z](?=\d)/g)?.length ?? 0;
}

function caseTurns(text: string): number {
  return text.match(/[a-z](?=[A-Z])|[A-Z](?=[a-z])/g)?.length ?? 0;
}

function isEncodedText(text: string): boolean {
  return /^[\x20-\x7e\s]+$/.test(bytesOfBase64(text) ?? '');
}

/** Ordinary names have few changes, because their digits are together. */
function digitChanges(text: string): number {
  return text.match(/\d(?=\D)|\D(?=\d)/g)?.length ?? 0;
}
