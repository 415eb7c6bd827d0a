//! The pods' network, as far as the API server uses it: an HTTP proxy that it is told to use for addresses of
//! pods, and that knows which port of this machine stands for which address.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::http::{Request, Response, StatusCode};

use crate::webhook::listen;
use crate::{LabError, background, s3};

type Routes = Arc<Mutex<HashMap<(String, u16), u16>>>;

/// The running proxy.
#[derive(Debug)]
pub(super) struct PodNetwork {
    port: u16,
    routes: Routes,
    task: tokio::task::JoinHandle<()>,
}

impl PodNetwork {
    pub(super) fn start() -> Result<PodNetwork, LabError> {
        let routes = Routes::default();
        let shared = Arc::clone(&routes);
        let http = s3::http();
        let app = axum::Router::new().fallback(move |request: Request<Body>| {
            let (routes, http) = (Arc::clone(&shared), http.clone());
            async move { forward(&routes, &http, request).await }
        });
        let listener = listen()?;
        let port = listener.local_addr().map_err(LabError::file("127.0.0.1"))?.port();
        let task = background()?.spawn(async move {
            if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                let _ = axum::serve(listener, app).await;
            }
        });
        Ok(PodNetwork { port, routes, task })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn route(&self, address: &str, port: u16, local: u16) {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner).insert((address.to_owned(), port), local);
    }
}

impl Drop for PodNetwork {
    fn drop(&mut self) {
        self.task.abort();
    }
}

type Http = hyper_util::client::legacy::Client<hyper_util::client::legacy::connect::HttpConnector, Body>;

/// The request names the pod's address in full, as to any HTTP proxy.
async fn forward(routes: &Routes, http: &Http, mut request: Request<Body>) -> Response<Body> {
    let address = request.uri().host().unwrap_or_default().to_owned();
    let port = request.uri().port_u16().unwrap_or(80);
    let local = routes.lock().unwrap_or_else(PoisonError::into_inner).get(&(address.clone(), port)).copied();
    let Some(local) = local else {
        return said(StatusCode::BAD_GATEWAY, &format!("no route to {address}:{port}"));
    };
    let path = request.uri().path_and_query().map_or("/", axum::http::uri::PathAndQuery::as_str);
    let Ok(uri) = format!("http://127.0.0.1:{local}{path}").parse() else {
        return said(StatusCode::BAD_REQUEST, "a path that is none");
    };
    *request.uri_mut() = uri;
    match http.request(request).await {
        Ok(response) => response.map(Body::new),
        Err(e) => said(StatusCode::BAD_GATEWAY, &format!("{address}:{port}: {e}")),
    }
}

fn said(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(text.to_owned()));
    *response.status_mut() = status;
    response
}
