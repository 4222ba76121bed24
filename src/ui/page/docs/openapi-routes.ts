/** The members of an OpenAPI description that the web page uses. */
export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly summary?: string }>>>>;
}

/** A route of the server's HTTP interface. */
export interface Route {
  readonly method: string;
  readonly path: string;
  readonly summary: string;
}

const methods = ['get', 'post', 'put', 'delete'];

/** Lists the routes in an OpenAPI description, in the order of the description. */
export function routesOf({ paths }: OpenApi): Route[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    methods.flatMap((method) => {
      const operation = operations[method];
      return operation ? [{ method: method.toUpperCase(), path, summary: operation.summary ?? '' }] : [];
    }),
  );
}
