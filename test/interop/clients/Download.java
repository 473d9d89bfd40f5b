// Lists the outbox, and downloads one file of it in two steps. docs/clients.md explains the variables.
import java.net.*;
import java.net.http.*;
import java.nio.file.Path;

class Download {
  public static void main(String[] args) throws Exception {
    var env = System.getenv();
    var client = HttpClient.newBuilder()
        .followRedirects(HttpClient.Redirect.NORMAL)
        .authenticator(new Authenticator() {
          protected PasswordAuthentication getPasswordAuthentication() {
            return new PasswordAuthentication(env.get("USERNAME"), env.get("PASSWORD").toCharArray());
          }
        })
        .build();
    for (var path : new String[] {"/files?inbox=false", "/stream/" + env.get("FILE") + "?redirect=false"}) {
      var request = HttpRequest.newBuilder(URI.create(env.get("PROXY") + path)).header("X-GA4GH-Visa", env.get("VISA"));
      var reply = client.send(request.build(), HttpResponse.BodyHandlers.ofString());
      if (reply.statusCode() != 200) throw new IllegalStateException(reply.body());
      System.out.println(reply.body());
      if (path.startsWith("/files")) continue;
      var url = reply.body().replaceAll(".*\"url\":\"([^\"]*)\".*", "$1");
      var fetched = HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(url)).build(),
          HttpResponse.BodyHandlers.ofFile(Path.of(env.get("FILE"))));
      if (fetched.statusCode() != 200) throw new IllegalStateException("storage: " + fetched.statusCode());
    }
  }
}
