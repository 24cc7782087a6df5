export const GENERAL = {
    sessionId: 'session.id',
    userId: 'user.id',
    errorType: 'error.type',
    serverAddress: 'server.address',
    serverPort: 'server.port',
    httpStatusCode: 'http.response.status_code',
    exceptionType: 'exception.type',
    exceptionMessage: 'exception.message',
    exceptionEscaped: 'exception.escaped',
};
