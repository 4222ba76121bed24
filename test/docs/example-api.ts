import type { ServerAnswer } from '../helpers/answering-server.ts';
import type { SeenRequest } from '../helpers/http-server.ts';

interface User {
  readonly name: string;
  readonly plan: string;
  readonly orders: readonly string[];
}

const users: Readonly<Record<string, User>> = {
  '17': { name: 'Ada', plan: 'pro', orders: ['A-1', 'A-2'] },
  '18': { name: 'Bob', plan: 'free', orders: [] },
  '20': { name: 'Dan', plan: 'free', orders: [] },
  '21': { name: 'Cleo', plan: 'pro', orders: ['C-1'] },
  '22': { name: 'Fay', plan: 'free', orders: [] },
};

/** The responses that are not JSON. */
const documents: Readonly<Record<string, ServerAnswer>> = {
  '/orders.xml': {
    headers: { 'content-type': 'application/xml' },
    body: `<orders>
  <order id="A-1"><buyer>Ada &amp; Co</buyer><total currency="EUR">12.50</total></order>
  <order id="A-2"><buyer>Bob</buyer><total currency="USD">7</total></order>
</orders>`,
  },
  '/prices.csv': { headers: { 'content-type': 'text/csv' }, body: 'item;price\ntea;2.50\ncake;4.00\n' },
  '/invoices/17': { headers: { 'content-type': 'application/pdf' }, body: 'Invoice 17\n\n' },
};

/** The secret in the password manager that the pages use. */
export const secret = 's3cret-token';

/**
 * Creates a handler that responds like the API that the pages call https://api.example.com. `/v2` requires a token. The first three
 * requests for user 20 fail, and `/accounts` reports errors with status 200.
 */
export function exampleApi(): (request: SeenRequest) => ServerAnswer {
  let troubles = 0;
  const contacts: Contact[] = [];
  return ({ path, headers, method, body }) => {
    const document = documents[path];
    if (document) return document;
    if (path.startsWith('/contacts')) return contactsAnswer(contacts, { path, method, body });
    if (path === '/documents') return { status: 201, body: { id: `doc-${/name="customer"\r\n\r\n(\w+)/.exec(body)?.[1]}` } };
    const [, version = '', kind = '', id = ''] = /^(\/v2)?\/(users|accounts|me)\/?(\w*)$/.exec(path) ?? [];
    if (version !== '' && headers.authorization !== `Bearer ${secret}`) return { status: 401, body: { error: 'bad token' } };
    if (kind === 'me') return { body: { name: 'crm' } };
    if (method === 'POST') return { status: 202, body: {} };
    if (id === '20' && troubles++ < 3) return { status: 503, body: { error: 'try again later' } };
    const user = users[id];
    if (kind === 'accounts') return { body: user ? { balance: 10 } : { error: { message: `no account ${id}` } } };
    return user ? { body: profileOf(user) } : { status: 404, body: { error: 'no such user' } };
  };
}

interface Contact {
  readonly id: number;
  readonly email: string;
}

/** Finds contacts by email, creates a contact, or updates one. */
function contactsAnswer(contacts: Contact[], { path, method, body }: Pick<SeenRequest, 'path' | 'method' | 'body'>): ServerAnswer {
  if (method === 'PATCH') return { body: { id: Number(path.split('/').at(-1)) } };
  if (method === 'POST') {
    const contact = { id: 501 + contacts.length, email: (JSON.parse(body) as Contact).email };
    contacts.push(contact);
    return { status: 201, body: contact };
  }
  const email = new URL(path, 'https://api.example.com').searchParams.get('email');
  return { body: { items: contacts.filter((contact) => contact.email === email) } };
}

function profileOf({ name, plan, orders }: User): object {
  return { data: { user: { name } }, subscriptions: [{ plan }], orders: orders.map((number) => ({ number })) };
}
