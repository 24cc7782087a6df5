export interface ServerAddress {
    readonly address: string;
    readonly port: number;
}
/** Host and port of a base URL; empty when it is none. An agent uses a handful of URLs, so each is parsed once. */
export declare function serverAddress(baseUrl: unknown): Partial<ServerAddress>;
