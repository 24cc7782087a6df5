/** The backend types, and the fields of their own that each has. How one is spoken to is a row of the pipeline. */
declare const OWN_FIELDS: {
    readonly otlp: readonly [];
    readonly jaeger: readonly [];
    readonly tempo: readonly [];
    readonly phoenix: readonly ['api_key'];
    readonly langfuse: readonly ['public_key', 'secret_key', 'base_url'];
    readonly signoz: readonly ['region', 'ingestion_key'];
    readonly uptrace: readonly ['dsn'];
    readonly openobserve: readonly ['user', 'password', 'organization', 'stream_name'];
    readonly honeycomb: readonly ['api_key', 'dataset', 'region'];
    readonly lgtm: readonly [];
    readonly weave: readonly ['api_key', 'entity', 'project'];
    readonly langsmith: readonly ['api_key', 'project', 'region', 'workspace_id'];
    readonly datadog: readonly ['api_key', 'site', 'source'];
    readonly mlflow: readonly ['experiment_id', 'token'];
    readonly elastic: readonly ['api_key', 'secret_token'];
    readonly file: readonly ['path', 'metrics_path'];
    readonly console: readonly ['stream'];
};
export type BackendType = keyof typeof OWN_FIELDS;
export declare const BACKEND_TYPES: readonly BackendType[];
export declare function isBackendType(name: string): name is BackendType;
export declare function ownFields(type: BackendType): readonly string[];
/** Whether the value of a type's own field may be shown. */
export declare function isShownField(name: string): boolean;
/** Whether the value is a path, in which `~/` is the home directory. */
export declare function isPathField(name: string): boolean;
/** The fields that every backend has. `docs/configuration.md` is generated from this. */
export declare const BACKEND_FIELDS: {
    readonly type: 'One of the types below; the only field that must be there';
    readonly name: 'Names it in messages and statistics; default: the type';
    readonly endpoint: 'http(s) URL: base, or the full URL of a signal; default: that of the type';
    readonly exact_endpoint: 'Use the endpoint as it is; default: `/v1/traces` or `/v1/metrics` is appended where it is missing';
    readonly headers: 'Mapping of HTTP headers; they win over those that the type makes';
    readonly protocol: '`http/json` or `http/protobuf`; default: what the type prefers';
    readonly compression: '`gzip` or `none`';
    readonly timeout_ms: 'Longest time of one request, retries included';
    readonly traces: 'Send traces; default: where the type takes them';
    readonly metrics: 'Send metrics; default: where the type takes them';
    readonly logs: 'Send logs; there are none of ours so far';
    readonly temporality: 'Of metrics: `cumulative`, `delta` or `lowmemory`; default: what the type prefers';
    readonly certificate: 'Path of a PEM file with the certificate authorities to trust';
};
export {};
