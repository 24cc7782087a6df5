import { SpanKind } from '@opentelemetry/api';
import { OPENINFERENCE_KIND } from '../semconv/index.js';
import { literal } from './capture.js';
export const skill = {
    kind: 'skill',
    spanKind: SpanKind.INTERNAL,
    parents: [],
    key: payload => ('name' in payload ? payload.name : undefined),
    name(payload, draw) {
        const name = 'name' in payload ? draw.capture.id(payload.name) : undefined;
        return literal(`skill${draw.spanNames === 'semconv' ? ' ' : '.'}${name ?? 'unknown'}`);
    },
    start({ payload }, draw) {
        const { own, inference } = draw.names;
        return {
            [inference.spanKind]: literal(OPENINFERENCE_KIND.chain),
            [own.skillName]: draw.capture.id(payload.name),
            [own.skillSource]: literal(payload.source),
            [own.skillPath]: draw.capture.snippet(payload.path),
        };
    },
    end({ payload }, draw) {
        return { attributes: { [draw.names.own.skillResultStatus]: literal(payload.finalStatus) } };
    },
    measure: () => [],
};
