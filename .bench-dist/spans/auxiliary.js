import { SpanKind } from '@opentelemetry/api';
import { api, requestAttributes, responseAttributes } from './api.js';
import { apiErrorPoints, apiPoints } from './api-points.js';
import { literal } from './capture.js';
import { errorFacts, OTHER_ERROR } from './error-facts.js';
import { textOf } from './foreign.js';
import { requestModel } from './request-parameters.js';
function isFailed(payload) {
    return textOf(payload.error_type) !== undefined || Boolean(payload.error);
}
/** A side call of the host (title, compression, vision, guardian): a model request that is not part of the loop. */
export const auxiliary = {
    kind: 'auxiliary',
    spanKind: SpanKind.INTERNAL,
    parents: [],
    key: payload => api.key(payload),
    name(payload, draw) {
        const { id } = draw.capture;
        if (draw.spanNames === 'semconv')
            return literal(`chat ${id(requestModel(payload)) ?? ''}`.trim());
        return literal(`aux.${id(payload.aux_task) ?? 'unknown'}`);
    },
    start(fired, draw) {
        return { ...requestAttributes(fired, draw), [draw.names.own.auxTask]: draw.capture.id(fired.payload.aux_task) };
    },
    end(fired, draw, opened) {
        const { payload } = fired;
        const attributes = responseAttributes(fired, draw, opened);
        if (!isFailed(payload))
            return { attributes };
        const { capture, names } = draw;
        const type = capture.id(payload.error_type ?? errorFacts(payload.error).type) ?? literal(OTHER_ERROR);
        return {
            attributes: { ...attributes, [names.general.errorType]: type },
            error: { type, message: capture.errorText(errorFacts(payload.error).message) ?? type },
            exception: true,
        };
    },
    measure(fired, draw, ended) {
        if (!isFailed(fired.payload))
            return apiPoints(fired, draw, ended);
        const { error_type, error } = fired.payload;
        const failure = { ...errorFacts(error), ...(error_type == null ? {} : { type: error_type }) };
        return apiErrorPoints({ ...fired, facts: {}, payload: { ...fired.payload, error: failure } }, draw, ended);
    },
};
