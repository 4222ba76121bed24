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

/** Prices by article, from the SOAP service `/soap`. */
const prices: Readonly<Record<string, string>> = { 'TEA-1': '2.50', 'CAKE&CO': '4.00' };

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
    if (path === '/login') return loginAnswer(body);
    if (path.startsWith('/statements/')) return statementAnswer(path, headers.authorization);
    if (path === '/soap') return soapAnswer(body);
    if (path === '/audiences/17/users') return { body: { received: (JSON.parse(body) as { data: string[] }).data.length } };
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
    // The id depends only on the email, because requests can arrive in any order: a... is 501, b... is 502.
    const { email } = JSON.parse(body) as Contact;
    const contact = { id: 404 + email.charCodeAt(0), email };
    contacts.push(contact);
    return { status: 201, body: contact };
  }
  const email = new URL(path, 'https://api.example.com').searchParams.get('email');
  return { body: { items: contacts.filter((contact) => contact.email === email) } };
}

/** Creates a session for the right password. */
function loginAnswer(body: string): ServerAnswer {
  const { password } = JSON.parse(body) as { password: string };
  return password === secret ? { body: { token: 'session-1', expires_in: 600 } } : { status: 403, body: { error: 'wrong password' } };
}

function statementAnswer(path: string, authorization: string | undefined): ServerAnswer {
  if (authorization !== 'Bearer session-1') return { status: 401, body: { error: 'log in first' } };
  return { body: { number: path.split('/').at(-1), total: '12.50', currency: 'EUR' } };
}

/** SOAP 1.1 sends a fault with status 500. */
function soapAnswer(body: string): ServerAnswer {
  const article = /<article>(.*)<\/article>/.exec(body)?.[1]?.replace('&amp;', '&') ?? '';
  const price = prices[article];
  const content = price
    ? `<GetPriceResponse xmlns="urn:shop"><price currency="EUR">${price}</price></GetPriceResponse>`
    : `<soap:Fault><faultcode>soap:Client</faultcode><faultstring>no article ${article}</faultstring></soap:Fault>`;
  return {
    status: price ? 200 : 500,
    headers: { 'content-type': 'text/xml; charset=utf-8' },
    body: `<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body>${content}</soap:Body></soap:Envelope>`,
  };
}

function profileOf({ name, plan, orders }: User): object {
  return { data: { user: { name } }, subscriptions: [{ plan }], orders: orders.map((number) => ({ number })) };
}
