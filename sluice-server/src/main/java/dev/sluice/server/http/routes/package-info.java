/** The routes of the HTTP interface and the console, and their JSON. */
@NullMarked
package dev.sluice.server.http.routes;

import org.jspecify.annotations.NullMarked;
