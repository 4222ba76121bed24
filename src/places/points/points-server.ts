import { readBody } from '../../core/answer/response.ts';
import { Failure } from '../../core/failure.ts';
import type { BuildContext } from '../../core/node.ts';
import type { HttpResponse } from '../../core/ports.ts';
import type { Value } from '../../core/value/value.ts';
import type { LookupServer } from '../lookup/lookup.ts';
import { refuseUnsuccessful, serverRequests } from '../lookup/server-requests.ts';
import type { SettledOptions } from '../node/places-options.ts';
import { pointsDocument, type QuestionParts } from './points-document.ts';
import type { PointsProvider, Where } from './provider.ts';
import { PointsQuestions } from './question.ts';

/** The parts of a node that gets points from a server. */
interface ServerPoints {
  readonly options: SettledOptions;
  readonly parts: QuestionParts;
  readonly context: BuildContext;
}

/** Returns the lookup server for a provider, configured with the options of a node. */
export function pointsServer(provider: PointsProvider, { options, parts, context }: ServerPoints): LookupServer {
  const { where, categories, limit } = parts;
  const { server, perDay, source } = provider;
  const requests = serverRequests({ server, options, perDay }, context);
  const questions = new PointsQuestions(parts, (question) => requests.post(provider.request(question)));
  return {
    publicServer: requests.publicServer,
    credentials: requests.credentials,
    maxAgeMs: options.cache,
    calls: 1,
    requests(fields) {
      const request = questions.request(fields);
      return request ? [request] : [];
    },
    check(response) {
      refuseUnsuccessful(response, options, requests.publicServer);
      const { status } = response;
      const { message, isTimeout = false } = provider.refusal(bodyOf(response)) ?? {};
      if (message !== undefined) throw new Failure(isTimeout ? 'timeout' : 'answer', message, { status, retryable: isTimeout });
    },
    document([response], record) {
      const asked = where(record) as Where;
      const found = provider.answer(bodyOf(response as HttpResponse), limit);
      return pointsDocument(found, { near: 'near' in asked ? asked.near : undefined, categories, limit, source });
    },
  };
}

function bodyOf(response: HttpResponse): Value {
  return readBody(response, 'json', true) ?? null;
}
