import { textOf } from '../spans/foreign.js';
function sessionAttributes(draw, sessionId) {
    const { general, own, genAi } = draw.names;
    const id = draw.capture.id(sessionId);
    return { [general.sessionId]: id, [own.sessionId]: id, [genAi.conversationId]: id };
}
/** What every span of a turn carries, not only the root: backends group and filter by it. */
export function turnIdentity(draw, session, turnId) {
    return {
        ...session.remembered,
        ...sessionAttributes(draw, session.id),
        [draw.names.own.turnId]: draw.capture.id(turnId),
    };
}
/** A record of a session that the turn's own has rotated into: its span says the new id. */
export function rotatedIdentity(draw, turn, sessionId) {
    return sessionId === undefined || sessionId === turn.session.id ? undefined : sessionAttributes(draw, sessionId);
}
function senderAttributes(payload, draw) {
    const sender = draw.capture.senderId ? textOf(payload.sender_id) : undefined;
    if (sender === undefined)
        return {};
    const platform = textOf(payload.platform);
    return {
        [draw.names.own.senderId]: draw.capture.id(sender),
        [draw.names.general.userId]: draw.capture.id(platform === undefined ? sender : `${platform}:${sender}`),
    };
}
/** Said once at a session's or a turn's start and true from then on: the sender, the correlation id. */
export function rememberedAttributes(payload, draw) {
    const correlation = draw.capture.id(payload.correlation_id);
    return {
        ...(correlation === undefined ? {} : { [draw.names.own.correlationId]: correlation }),
        ...senderAttributes(payload, draw),
    };
}
