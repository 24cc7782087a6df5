/** Stable OpenTelemetry names that every reader knows. Written out here so that the rooms above need no package. */
export interface GeneralNames {
    readonly sessionId: string;
    readonly userId: string;
    readonly errorType: string;
    readonly serverAddress: string;
    readonly serverPort: string;
    readonly httpStatusCode: string;
    readonly exceptionType: string;
    readonly exceptionMessage: string;
    readonly exceptionEscaped: string;
}
export declare const GENERAL: GeneralNames;
