/** OpenTelemetry names that every backend reads; those of `vcs` are not stable yet. Written out so that the modules above need no package. */
export const GENERAL = {
  traceSession: 'session.id',
  userId: 'user.id',
  errorType: 'error.type',
  serverAddress: 'server.address',
  serverPort: 'server.port',
  httpStatusCode: 'http.response.status_code',
  exceptionType: 'exception.type',
  exceptionMessage: 'exception.message',
  exceptionEscaped: 'exception.escaped',
  repositoryName: 'vcs.repository.name',
  branchName: 'vcs.ref.head.name',
} as const

/** The version of OpenTelemetry's conventions that the scope follows. */
export const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.41.0'
