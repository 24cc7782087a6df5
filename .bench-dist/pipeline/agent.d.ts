import type { Agent, ClientRequest } from 'node:http';
/** Sees each request before it is sent. What it throws is thrown at whoever makes the request. */
export type RequestWatch = (request: ClientRequest) => void;
export declare function createAgent(url: string, certificate: Buffer | undefined, watch?: RequestWatch): Agent;
/**
 * Keeps a request from holding the process: a host that has finished must be able to end although a collector hangs.
 * Whoever wants to wait for the request keeps the process alive itself.
 */
export declare function leaveProcessFree(request: ClientRequest): void;
