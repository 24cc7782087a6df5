import { http, https } from './sdk.js';
/** An address that swallows packets would otherwise hold the process for the minutes that the system tries. */
const CONNECT_MILLIS = 3000;
/** One connection at a time and a spare: a backend has one request in flight per signal. */
const MAX_SOCKETS = 2;
export function createAgent(url, certificate, watch = () => undefined) {
    const { Agent: Base } = url.startsWith('https:') ? https() : http();
    return new (watching(Base, watch))({
        keepAlive: true,
        maxSockets: MAX_SOCKETS,
        ...(certificate ? { ca: certificate } : {}),
    });
}
function watching(Base, watch) {
    return class extends Base {
        addRequest(request, ...rest) {
            watch(request);
            super.addRequest(request, ...rest);
        }
    };
}
/**
 * Keeps a request from holding the process: a host that has finished must be able to end although a collector hangs.
 * Whoever wants to wait for the request keeps the process alive itself.
 */
export function leaveProcessFree(request) {
    request.on('socket', socket => {
        // The agent takes the socket's reference back whenever it hands a kept one out again, so this is done per request.
        socket.unref();
        if (socket.connecting)
            boundConnect(socket);
    });
}
function boundConnect(socket) {
    const give = setTimeout(() => socket.destroy(connectTimeout()), CONNECT_MILLIS).unref();
    socket.once('connect', () => clearTimeout(give));
    socket.once('close', () => clearTimeout(give));
}
function connectTimeout() {
    return Object.assign(new Error('connect timed out'), { code: 'ETIMEDOUT' });
}
