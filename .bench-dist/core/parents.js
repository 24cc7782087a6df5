import { idOf, textOf } from '../spans/foreign.js';
import { contextOf, contextOfSpan } from './turn.js';
/** A tool belongs to the request that asked for it, which has often ended by the time the tool runs. */
function requestOf(turn, payload) {
    const request = idOf(payload.api_request_id);
    if (request === undefined)
        return undefined;
    const open = turn.open.get(`api ${request}`);
    if (open !== undefined)
        return contextOf(open);
    const ended = turn.ended.get(`api ${request}`);
    return ended === undefined ? undefined : contextOfSpan(ended.context);
}
function gatedTool(turn, payload) {
    const call = idOf(payload.tool_call_id);
    return call === undefined ? undefined : turn.open.get(`tool ${call}`);
}
/** The tool call that delegates: named by its id, else the only open tool of a delegating kind. */
function delegatingTool(turn, payload, delegatingTools) {
    const named = gatedTool(turn, payload);
    if (named !== undefined)
        return named;
    const candidates = turn.stack.all(open => {
        const name = open.kind === 'tool' ? textOf(open.start?.tool_name) : undefined;
        return name !== undefined && delegatingTools.has(name.toLowerCase());
    });
    return candidates.length === 1 ? candidates[0] : undefined;
}
function namedParent(turn, definition, payload, delegatingTools) {
    if (definition.kind === 'tool')
        return requestOf(turn, payload);
    const open = definition.kind === 'approval'
        ? gatedTool(turn, payload)
        : definition.kind === 'subagent'
            ? delegatingTool(turn, payload, delegatingTools)
            : undefined;
    return open === undefined ? undefined : contextOf(open);
}
/**
 * The parent of a new span: by id where one names it, else the innermost open span of an allowed kind, always in the own
 * turn. No ambient context is asked: what is "active" may belong to anybody.
 */
export function parentOf(turn, definition, payload, delegatingTools) {
    const named = namedParent(turn, definition, payload, delegatingTools);
    if (named !== undefined)
        return named;
    for (const kind of definition.parents) {
        const open = turn.stack.innermost(kind);
        if (open !== undefined)
            return contextOf(open);
    }
    return turn.root === undefined || turn.root.ended ? turn.anchor : contextOf(turn.root);
}
