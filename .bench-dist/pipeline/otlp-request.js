import { leaveProcessFree } from './agent.js';
import { http, https } from './sdk.js';
/** An answer is a few bytes; of a longer one, only the status counts. */
const MAX_ANSWER_BYTES = 65_536;
/** What comes of the request that `begin` makes, now or later. Never rejects; resolves at the latest after the timeout. */
export function exchange(limits, begin) {
    const startedAt = performance.now();
    return new Promise(resolve => {
        let request;
        let isOver = false;
        const settle = (attempt) => {
            isOver = true;
            clearTimeout(expiry);
            limits.signal.removeEventListener('abort', cut);
            resolve(attempt);
        };
        const end = (delivery) => {
            if (isOver)
                return;
            settle({ delivery });
            request?.destroy();
        };
        const giveUp = (afterMillis) => end(failed({ kind: 'timeout', afterMillis: Math.round(afterMillis) }));
        const cut = () => giveUp(performance.now() - startedAt);
        const expiry = setTimeout(() => giveUp(limits.allowedMillis), limits.timeoutMillis).unref();
        if (limits.signal.aborted)
            return cut();
        limits.signal.addEventListener('abort', cut);
        const watch = (made) => {
            if (isOver)
                throw new Error('given up before it was sent');
            request = made;
            leaveProcessFree(request);
            request.on('error', error => end(failed({ kind: 'network', code: codeOf(error) })));
            request.on('response', response => readAnswer(response, settle));
        };
        begin({ isOver: () => isOver, watch, end });
    });
}
/** Sends once. Never rejects; resolves at the latest after the timeout. */
export function postOnce(post) {
    return exchange(post, ({ watch, end }) => {
        try {
            const { request } = post.url.startsWith('https:') ? https() : http();
            const made = request(post.url, { method: 'POST', headers: post.headers, agent: post.agent });
            watch(made);
            made.end(post.payload);
        }
        catch (error) {
            // A header with a line break in it, usually a key that was read from a file.
            end(failed({ kind: 'header', code: codeOf(error) }));
        }
    });
}
function readAnswer(response, settle) {
    const chunks = [];
    let size = 0;
    // Read at once: whoever else looks at the response may be shown something else.
    const { statusCode: status = 0, headers } = response;
    // The status decides, also when the connection breaks in the middle of the body.
    const done = () => settle(judge(status, headers, Buffer.concat(chunks)));
    response.on('data', (chunk) => {
        size += chunk.length;
        if (size <= MAX_ANSWER_BYTES) {
            chunks.push(chunk);
            return;
        }
        done();
        response.destroy(new Error('the answer is too long'));
    });
    response.on('end', done);
    response.on('error', done);
    response.on('close', done);
}
function judge(status, headers, answer) {
    if (status >= 200 && status < 300) {
        const isPage = headers['content-type']?.startsWith('text/html') === true;
        return { delivery: isPage ? failed({ kind: 'page', status }) : { ok: true, answer } };
    }
    const retryAfterMillis = retryAfter(headers['retry-after']);
    const { location } = headers;
    return {
        delivery: failed({ kind: 'status', status, ...(location === undefined ? {} : { location }) }),
        ...(retryAfterMillis === undefined ? {} : { retryAfterMillis }),
    };
}
function retryAfter(header) {
    if (header === undefined)
        return undefined;
    const seconds = Number(header);
    const millis = Number.isNaN(seconds) ? Date.parse(header) - Date.now() : seconds * 1000;
    return Number.isFinite(millis) ? Math.max(0, millis) : undefined;
}
export function failed(failure) {
    return { ok: false, failure };
}
export function codeOf(error) {
    const { code, name } = (error ?? {});
    return typeof code === 'string' ? code : typeof name === 'string' ? name : 'unknown';
}
